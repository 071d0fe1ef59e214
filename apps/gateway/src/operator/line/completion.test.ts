import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { COMMANDS } from '../commands.ts'
import { completionScript, PROGRAM, SHELLS } from './completion.ts'

const hasShell = (shell: string) => {
  try {
    execFileSync(shell, ['-c', 'true'])
    return true
  } catch {
    return false
  }
}

/** What bash offers after these words, the last of which is being typed. */
function offeredByBash(...words: string[]): string[] {
  const script = completionScript('bash', COMMANDS, ['/bin/echo', "it's"])
  const line = `${script}
COMP_WORDS=(${PROGRAM} ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_${PROGRAM.replace('-', '_')}; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['--norc', '-c', line], { encoding: 'utf8' })
  return out.split('\n').filter(word => word !== '')
}

test('[R6.5] bash completes nouns, verbs, options and what options can be', ctx => {
  if (!hasShell('bash')) return ctx.skip('no bash here')
  expect(offeredByBash('')).toEqual([...new Set(COMMANDS.map(({ noun }) => noun))])
  expect(offeredByBash('cou')).toEqual(['coupons'])
  expect(offeredByBash('coupons', '')).toEqual(['create', 'list', 'show', 'close'])
  expect(offeredByBash('coupons', 'create', 'X', '--cur')).toEqual(['--currency'])
  expect(offeredByBash('coupons', 'create', 'X', '--currency', '')).toEqual(['USD', 'EUR'])
  expect(offeredByBash('coupons', 'create', 'X', '--amount', '')).toEqual([])
  expect(offeredByBash('coupons', 'list', '--d')).toEqual([])
  expect(offeredByBash('coupons', 'close', 'X', '--d')).toEqual(['--dry-run'])
  expect(offeredByBash('--json', 'books', '')).toEqual(['check'])
})

test('[R6.5] the function that the script makes runs the program with the words as they are', ctx => {
  if (!hasShell('bash')) return ctx.skip('no bash here')
  const script = completionScript('bash', COMMANDS, ['/bin/echo', "it's"])
  const out = execFileSync('bash', ['--norc', '-c', `${script}\n${PROGRAM} 'a  b' c`], { encoding: 'utf8' })
  expect(out).toBe("it's a  b c\n")
})

test.for(SHELLS)('[R6.5] %s takes its script', (shell, ctx) => {
  if (!hasShell(shell)) return ctx.skip(`no ${shell} here`)
  const script = completionScript(shell, COMMANDS, ['/bin/true'])
  expect(() => execFileSync(shell, ['-n'], { input: script })).not.toThrow()
})
