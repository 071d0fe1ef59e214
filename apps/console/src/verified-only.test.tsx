import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Call } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { screen } from '@testing-library/react'
import { describe, expect, test } from 'vitest'
import { BalanceChip } from './app/shell/BalanceChip.tsx'
import type { ShellCommands } from './app/shell/shell-commands.ts'
import { useCommandRows } from './app/shell/use-palette-rows.ts'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, customer, InShell } from './gateway-fixture.tsx'
import * as dialogs from './instances/ConfirmDialogs.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { Page as TerminalPage } from './pages/terminal/TerminalPage.tsx'

const UNVERIFIED = customer({ emailVerified: false })
const REASON = 'The account is not activated. You can operate it after successful activation.'

/** What the contract's changing calls for verified customers alone are called in the source. */
const verifiedOnly = await namesOf(({ readOnly, audience }) => !readOnly && audience === 'verified')

async function namesOf(wanted: (call: Call) => boolean): Promise<string[]> {
  const folder = `${import.meta.dirname}/../../../packages/contract/src`
  const modules = globSync('*.ts', { cwd: folder }).filter(file => !/\.test\.|^calls\.ts/.test(file))
  const exported = await Promise.all(modules.map(file => import(`${folder}/${file}`)))
  return exported
    .flatMap(module => Object.entries(module))
    .filter(([, value]) => (calls as readonly unknown[]).includes(value) && wanted(value as Call))
    .map(([name]) => name)
}

const sources = globSync('{app,images,instances,pages,lists,ui}/**/*.{ts,tsx}', { cwd: import.meta.dirname })
  .filter(file => !/\.test\./.test(file))
  .map(file => ({ file, text: readFileSync(`${import.meta.dirname}/${file}`, 'utf8') }))
const sentIn = (name: string) =>
  sources.filter(({ text }) => new RegExp(`(useChange|sendChanges?)\\(\\s*${name}\\b`).test(text))

describe('what only verified customers may do', () => {
  test('is found in the console', () => {
    expect(verifiedOnly.filter(name => sentIn(name).length > 0).length).toBeGreaterThan(8)
  })

  test.each(verifiedOnly)('[R2.5] [R4.2] has a button, or a page, that is off for others: %s', name => {
    for (const { file } of sentIn(name)) {
      const beside = sources.filter(other => dirname(other.file) === dirname(file))
      const guarded = beside.some(({ text }) =>
        new RegExp(`call=\\{[^}]*\\b${name}\\b[^}]*\\}|useOffFor\\(${name}\\)`).test(text),
      )
      const how = `${file} sends ${name}: give its button to VerifiedButton with call={${name}}, or ask useOffFor`
      expect(guarded, how).toBe(true)
    }
  })

  test.each(Object.entries(dialogs))(
    '[R4.2] %s cannot be confirmed without a verified address',
    async (_, Dialog) => {
      await answerCalls({}, { user: UNVERIFIED })
      await renderInPage(
        () => <Dialog instance={madeInstance({ status: 'stopped' })} opened onClose={() => undefined} />,
        { namespaces: ['instances'] },
      )
      expect(screen.getByText(REASON)).toBeDefined()
      const confirm = screen.getAllByRole<HTMLButtonElement>('button').at(-1)
      expect(confirm?.textContent).toMatch(/Start|Stop|Restart|Terminate/)
      expect(confirm?.disabled).toBe(true)
    },
  )

  test.each([
    { emailVerified: true, off: false },
    { emailVerified: false, off: true },
  ])('[R4.2] topping up from the header and the palette is off: $off', async ({ emailVerified, off }) => {
    const user = customer({ emailVerified })
    await answerCalls({}, { user })
    let rows: ReturnType<typeof useCommandRows> = []
    await renderInPage(() => {
      rows = useCommandRows({
        user,
        docsUrl: undefined,
        commands: {} as ShellCommands,
        onSubject: () => undefined,
      })
      return (
        <InShell>
          <BalanceChip />
        </InShell>
      )
    })
    const inHeader = screen.getByText('Top up').closest('a, button')
    expect(inHeader?.getAttribute('aria-disabled') === 'true').toBe(off)
    expect(inHeader?.hasAttribute('href')).toBe(!off)
    expect(rows.find(({ id }) => id === 'top-up')?.off ?? null).toBe(off ? REASON : null)
  })

  test('[R4.2] the page of the terminal starts none', async () => {
    const { sent } = await answerCalls({}, { user: UNVERIFIED })
    await renderInPage(TerminalPage, { namespaces: ['instances'], at: '?instance=i-000000' })
    expect(screen.getByText(REASON)).toBeDefined()
    expect(sent.map(({ operation }) => operation)).not.toContain('instance.start-web-terminal')
  })
})
