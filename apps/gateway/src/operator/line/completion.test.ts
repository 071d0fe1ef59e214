import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS } from '../commands.ts'
import { completionScript, PROGRAM, SHELLS } from './completion.ts'
import { helpOfCommand } from './help.ts'

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

/** What zsh offers after these words, the last of which is being typed: it leaves out itself what does not begin so. */
function offeredByZsh(...words: string[]): string[] {
  const script = completionScript('zsh', COMMANDS, ['/bin/echo', "it's"])
  // What its completion system has, as far as the script calls it.
  const line = `compdef() { :; }; _files() { print -- FILES; }; _describe() { print -l -- "\${(P@)@[-1]}"; }
${script}
words=(${PROGRAM} ${words.map(word => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}
_${PROGRAM}`
  const out = execFileSync('zsh', ['-f', '-c', line], { encoding: 'utf8' })
  return out.split('\n').filter(word => word !== '')
}

test('[R6.5] zsh completes nouns, verbs, options and what options can be, each with what it does', ctx => {
  if (!hasShell('zsh')) return ctx.skip('no zsh here')
  const wordsOf = (lines: string[]) => lines.map(line => line.split(':')[0])
  expect(wordsOf(offeredByZsh(''))).toEqual([...new Set(COMMANDS.map(({ noun }) => noun))])
  expect(offeredByZsh('')).toContain('coupons:create, list, show, close')
  expect(wordsOf(offeredByZsh('coupons', ''))).toEqual(['create', 'list', 'show', 'close'])
  expect(offeredByZsh('coupons', 'close', 'X', '')).toContain(
    '--dry-run:Says what would be done, and changes nothing',
  )
  expect(wordsOf(offeredByZsh('coupons', 'create', 'X', '--currency', ''))).toEqual(['USD', 'EUR'])
  expect(offeredByZsh('coupons', 'create', 'X', '--amount', '')).toEqual([])
  expect(wordsOf(offeredByZsh('--json', 'books', ''))).toEqual(['check'])
  expect(offeredByZsh('catalogue', 'apply', '')).toContain('FILES')
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

test('[R6.5] the line that the help shows, typed as it stands, writes a script and no word of npm’s', ctx => {
  if (!hasShell('bash')) return ctx.skip('no bash here')
  const command = COMMANDS.find(({ noun, verb }) => noun === 'completion' && verb === 'bash')
  const shown = command && helpOfCommand(command).split('\n')
  const line = shown?.find(text => text.includes(' > ~/.berth-operator'))?.trim() ?? ''
  const home = mkdtempSync(join(tmpdir(), 'berth-home-'))
  try {
    const root = join(import.meta.dirname, '../../../../..')
    execFileSync('bash', ['--norc', '-c', line], { cwd: root, env: { ...process.env, HOME: home } })
    const script = readFileSync(join(home, '.berth-operator'), 'utf8')
    expect(script).toMatch(/^# The operator.s command line/)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
