import { listSshKeys } from '@berth/contract/ssh-keys'
import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { SshPart } from './SshPart.tsx'

const FINGERPRINTS = [
  { type: 'ssh-ed25519', fingerprint: 'SHA256:first' },
  { type: 'ecdsa-sha2-nistp256', fingerprint: 'SHA256:second' },
]
const WAY = {
  host: 'berth.example',
  port: 2222,
  user: 'i-7q2m9x',
  fingerprints: FINGERPRINTS,
  own_server: false,
}

/** Draws the part for a customer who has stored keys of these names. */
async function open(names: string[], way: Partial<typeof WAY> = {}) {
  await answerCalls({
    [listSshKeys.operation]: () =>
      names.map(name => ({
        id: name,
        name,
        type: 'ssh-ed25519',
        bits: null,
        fingerprint: `SHA256:${name}`,
        public_key: 'ssh-ed25519 AAAA',
        created_at: '2026-11-20T12:00:00.000Z',
      })),
  })
  await renderInPage(
    () => (
      <InShell>
        <SshPart ssh={{ ...WAY, ...way }} />
      </InShell>
    ),
    { namespaces: ['instances'] },
  )
}

test('[R2.23] the command is the one to type, with a port only where SSH has another of its own', async () => {
  await open(['laptop'])
  expect(await screen.findByText('ssh i-7q2m9x@berth.example -p 2222')).toBeTruthy()
})

test('[R2.23] a server on the usual port needs none in the command', async () => {
  await open(['laptop'], { port: 22 })
  expect(await screen.findByText('ssh i-7q2m9x@berth.example')).toBeTruthy()
})

test('[R2.23] the keys that let in are named, and the server’s own go by the names that clients show', async () => {
  await open(['laptop', 'desk'])
  expect(await screen.findByText(/lets in with: laptop, desk\./)).toBeTruthy()
  expect(screen.getByRole('link').getAttribute('href')).toBe('/settings?section=ssh-keys')
  for (const kind of ['ED25519', 'ECDSA']) expect(screen.getByText(`Server ${kind}`)).toBeTruthy()
  expect(screen.getByText('SHA256:second')).toBeTruthy()
})

test('[R2.23] of a virtual machine it is said who one is there, and that its own server must answer', async () => {
  await open(['laptop'], { own_server: true })
  expect(await screen.findByText(/as root, by the SSH server of the machine’s own system/)).toBeTruthy()
})

test('[R2.23] who has stored no key is told so, with the way to add one', async () => {
  await open([])
  expect(await screen.findByText(/stored no SSH key yet/)).toBeTruthy()
  const link = screen.getByRole('link', { name: 'Add a key' })
  expect(link.getAttribute('href')).toBe('/settings?section=ssh-keys')
})
