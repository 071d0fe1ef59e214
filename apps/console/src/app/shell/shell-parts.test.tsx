import { act, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, onTestFinished, test } from 'vitest'
import { connection } from '../../api/connection.ts'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell } from '../../gateway-fixture.tsx'
import { AvatarButton } from './AvatarButton.tsx'
import { ConnectionLine } from './ConnectionLine.tsx'
import { findRows } from './palette-rows.ts'
import { SideMenu } from './SideMenu.tsx'
import type { ShellCommands } from './shell-commands.ts'
import { useCommandRows } from './use-palette-rows.ts'

const COMMANDS: ShellCommands = {
  openMenu: () => undefined,
  openPalette: () => undefined,
  showShortcuts: () => undefined,
  logOut: () => undefined,
}

test('a line stands while the gateway cannot be reached, says since when, and goes when it can', async () => {
  let asked = 0
  await answerCalls({}, { health: () => (asked += 1) })
  onTestFinished(connection.hear)
  await renderInPage(() => (
    <InShell>
      <ConnectionLine />
    </InShell>
  ))
  expect(screen.getByRole('status').textContent).toBe('')
  act(() => connection.lose())
  expect(screen.getByRole('status').textContent).toMatch(
    /No connection since \d.*What is shown is from before/,
  )
  await userEvent.click(screen.getByRole('button', { name: 'Try now' }))
  await waitFor(() => expect(screen.getByRole('status').textContent).toBe(''))
  expect(asked).toBe(1)
})

test('[B13] what is seen on the button of the account is part of what it is called', async () => {
  await renderInPage(() => <AvatarButton user={customer({ displayName: 'Mira Kallio' })} />)
  const button = screen.getByRole('button', { name: /^Your account/ })
  expect(button.textContent).toBe('MK')
  expect(button.getAttribute('aria-label')).toContain(button.textContent)
})

test('[R2.12] on a page that is no entry’s own, none of the side menu is marked as the current one', async () => {
  await renderInPage(() => <SideMenu collapsed={false} />)
  const links = screen.getAllByRole('link')
  expect(links.length).toBeGreaterThan(5)
  // The look asks whether there is the attribute, not what it says.
  expect(links.filter(link => link.hasAttribute('aria-current'))).toEqual([])
})

test.each([
  { typed: 'ssh', finds: 'SSH keys' },
  { typed: 'public key', finds: 'SSH keys' },
  { typed: 'audit', finds: 'Audit log' },
  { typed: 'two devices', finds: null },
  { typed: 'password', finds: 'Sign-in' },
  { typed: 'docker', finds: 'Registry credentials' },
  { typed: 'system', finds: 'Theme of the system' },
  { typed: '日本', finds: '日本語' },
  { typed: 'korean 한국', finds: null },
  { typed: 'language ja', finds: '日本語' },
])('typing $typed into the palette finds $finds', async ({ typed, finds }) => {
  localStorage.setItem('mantine-color-scheme-value', 'light')
  const rows = await paletteRows()
  const found = findRows(rows, typed).flatMap(group => group.rows.map(({ label }) => label))
  expect(found[0] ?? null).toBe(finds)
})

test('before anything is typed the palette holds pages and commands, and no section', async () => {
  const rows = await paletteRows()
  const labels = findRows(rows, '').flatMap(group => group.rows.map(({ label }) => label))
  expect(labels).toContain('Settings')
  expect(labels).not.toContain('SSH keys')
})

/** What the palette can find, on a page of its own. */
async function paletteRows(): Promise<ReturnType<typeof useCommandRows>> {
  await answerCalls()
  let rows: ReturnType<typeof useCommandRows> = []
  await renderInPage(() => {
    rows = useCommandRows({
      user: customer(),
      docsUrl: undefined,
      commands: COMMANDS,
      onSubject: () => undefined,
    })
    return <p>A page</p>
  })
  return rows
}
