import { getVolumeS3, makeS3Key, revokeS3Key } from '@berth/contract/volume-s3'
import { cleanup, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell } from '../../gateway-fixture.tsx'
import { S3Dialog } from './S3Dialog.tsx'
import { madeVolume } from './volume-fixture.ts'

const SECRET = 't9Xw-the-secret-that-is-told-once-aEuKiToVy'
const key = {
  access_key_id: 'BKIA1C8VKA52RRLQ9E3M',
  access: 'read_only' as const,
  secret_end: '9E3M',
  created_at: '2026-11-02T10:00:00.000Z',
  last_used_at: null,
  last_used_from: null,
  ends_at: null,
}
const served = {
  state: 'served',
  detail: '',
  endpoint: 'https://s3.us-west.berth.example',
  bucket: 'v-000000',
  region: 'us-west',
  keys: [key],
}

async function open(facts: object, answers: Answers = {}, volume = madeVolume()) {
  const { sent } = await answerCalls({ [getVolumeS3.operation]: () => facts, ...answers })
  await renderInPage(
    () => (
      <InShell>
        <S3Dialog volume={volume} opened onClose={() => undefined} />
      </InShell>
    ),
    { namespaces: ['volumes'] },
  )
  const dialog = await screen.findByRole('dialog')
  return {
    dialog: within(dialog),
    of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation),
  }
}

test('[R2.25] of a volume of files it says that objects are files, and of one of objects that no instance has it', async () => {
  const { dialog } = await open(served)
  expect(await dialog.findByText(/^Objects are files/)).toBeTruthy()
  cleanup()
  const other = await open(served, {}, madeVolume({ kind: 'objects' }))
  expect(await other.dialog.findByText(/No instance has it as a folder/)).toBeTruthy()
  expect(other.dialog.queryByText(/^Objects are files/)).toBeNull()
})

test('[R2.25] shows endpoint, bucket and region, and a new secret once: hidden in the commands, closed on purpose', async () => {
  const made = { ...key, access: 'read_write' as const, secret_end: 'ToVy', secret_access_key: SECRET }
  const { dialog, of } = await open(served, { [makeS3Key.operation]: () => made })
  for (const said of [served.endpoint, served.bucket, 'us-west'])
    expect((await dialog.findAllByText(said)).length).toBe(1)
  expect(dialog.getByText(/aws s3 sync/)).toBeTruthy()
  await userEvent.click(dialog.getByRole('button', { name: 'Create key' }))
  expect(await dialog.findByText(SECRET)).toBeTruthy()
  expect(of(makeS3Key)[0]).toMatchObject({ body: { access: 'read_write' } })
  expect(dialog.getByText(/aws s3 sync/).textContent).toContain('t9Xw…ToVy')
  expect(dialog.getByText(/aws s3 sync/).textContent).not.toContain(SECRET)
  expect(dialog.queryByRole('button', { name: 'Close' })).toBeNull()
  expect(dialog.getByRole('link', { name: 'Download .env' }).getAttribute('href')).toContain(
    encodeURIComponent(SECRET),
  )
  expect(dialog.getByRole('button', { name: 'I have saved the secret' })).toBeTruthy()
  // One button is the dialog's own now.
  expect(dialog.getByRole('button', { name: 'Create key' }).dataset.variant).toBe('default')
})

test('[R2.25] a key is revoked once that was confirmed', async () => {
  const { dialog, of } = await open(served, { [revokeS3Key.operation]: () => null })
  await userEvent.click(await dialog.findByRole('button', { name: `Revoke ${key.access_key_id}` }))
  const confirm = await screen.findByRole('dialog', { name: `Revoke ${key.access_key_id}?` })
  expect(of(revokeS3Key)).toEqual([])
  await userEvent.click(within(confirm).getByRole('button', { name: 'Revoke' }))
  await waitFor(() => expect(of(revokeS3Key).length).toBe(1))
})

test('[R2.25] a secret whose key is revoked while it is shown is not to be saved any more', async () => {
  const made = { ...key, access: 'read_write' as const, secret_end: 'ToVy', secret_access_key: SECRET }
  const { dialog } = await open(served, {
    [makeS3Key.operation]: () => made,
    [revokeS3Key.operation]: () => null,
  })
  await userEvent.click(await dialog.findByRole('button', { name: 'Create key' }))
  expect(await dialog.findByText(SECRET)).toBeTruthy()
  await userEvent.click(dialog.getByRole('button', { name: `Revoke ${key.access_key_id}` }))
  const confirm = await screen.findByRole('dialog', { name: `Revoke ${key.access_key_id}?` })
  await userEvent.click(within(confirm).getByRole('button', { name: 'Revoke' }))
  await waitFor(() => expect(dialog.queryByText(SECRET)).toBeNull())
  expect(dialog.queryByRole('button', { name: 'I have saved the secret' })).toBeNull()
})

test('[R2.25] says why a volume is not reached by S3, and makes no key that would reach nothing', async () => {
  const { dialog } = await open({ ...served, state: 'not_files', detail: 'it is a disk', keys: [] })
  expect(await dialog.findByText(/cannot show it as files/)).toBeTruthy()
  expect(dialog.getByText('it is a disk')).toBeTruthy()
  expect(dialog.queryByText(/aws s3 sync/)).toBeNull()
  expect(dialog.queryByRole('button', { name: 'Create key' })).toBeNull()
})

test('[R2.25] while nobody reaches a volume keys are made for when somebody does', async () => {
  const { dialog } = await open({ ...served, state: 'elsewhere', detail: 'it does not answer', keys: [] })
  expect(await dialog.findByText('it does not answer')).toBeTruthy()
  expect(dialog.getByRole('button', { name: 'Create key' })).toBeTruthy()
})
