import {
  deleteSnapshot,
  listSnapshots,
  restoreSnapshot,
  type Snapshot,
  scheduleSnapshots,
  takeSnapshot,
} from '@berth/contract/volume-snapshots'
import { getVolumePrice } from '@berth/contract/volumes'
import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { SnapshotsDialog } from './SnapshotsDialog.tsx'
import { madeSnapshot, madeSnapshots, madeVolume } from './volume-fixture.ts'

async function open(answer: unknown, answers: Answers = {}) {
  const { sent } = await answerCalls({
    [listSnapshots.operation]: () => answer,
    [getVolumePrice.operation]: () => sampleOf(getVolumePrice.data),
    ...answers,
  })
  await renderInPage(
    () => (
      <InShell>
        <SnapshotsDialog volume={madeVolume()} opened onClose={() => undefined} />
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

test('[R1.2] shows each with its time, size, price and why it is there, and in words what is not ready', async () => {
  const failed = { code: 'make_failed', detail: 'no space left' } as const
  const all: Partial<Snapshot>[] = [
    { id: 's-000001', status: 'making', taken_at: null, size_gb: null },
    { id: 's-000002', made_by: 'schedule', in_use: true },
    { id: 's-000003', status: 'failed', reason: failed, size_gb: null },
  ]
  const { dialog } = await open(madeSnapshots({ snapshots: all.map(madeSnapshot) }))
  for (const said of [
    'Being copied',
    'by schedule · 4 GB · $0.0064 /day · an instance could write meanwhile',
    'It could not be taken, and costs nothing.',
    'One taken now: about 83 GB, $0.1328 /day',
  ])
    expect(await dialog.findByText(said)).toBeTruthy()
  // What is not ready is made into nothing.
  expect(dialog.getAllByRole('button', { name: /^Restore/ })).toHaveLength(1)
})

test('says what to do where there is none, and takes one', async () => {
  const { dialog, of } = await open(madeSnapshots({ snapshots: [] }), {
    [takeSnapshot.operation]: () => madeSnapshot({ status: 'making' }),
  })
  expect(await dialog.findByText('No snapshot yet. Take one, or have them taken by schedule.')).toBeTruthy()
  await userEvent.click(dialog.getByRole('button', { name: 'Take snapshot' }))
  expect(await dialog.findByText('A snapshot of datasets is being taken.')).toBeTruthy()
  expect(of(takeSnapshot)).toHaveLength(1)
})

test('a list that could not be had says so, and is asked for again', async () => {
  let asked = 0
  const { dialog } = await open(null, {
    [listSnapshots.operation]: () => (asked++ === 0 ? new Refusal([], 'not_found', 404) : madeSnapshots({})),
  })
  await userEvent.click(await dialog.findByRole('button', { name: /Try again|Retry/i }))
  expect(await dialog.findByText(/by hand · 4 GB/)).toBeTruthy()
})

test('[R2.25] one is deleted once that was confirmed', async () => {
  const { dialog, of } = await open(madeSnapshots({}), { [deleteSnapshot.operation]: () => madeSnapshot({}) })
  await userEvent.click(await dialog.findByRole('button', { name: /^Delete the snapshot of/ }))
  const confirm = await screen.findByRole('dialog', { name: /^Delete the snapshot of/ })
  expect(of(deleteSnapshot)).toEqual([])
  await userEvent.click(within(confirm).getByRole('button', { name: 'Delete' }))
  await waitFor(() => expect(of(deleteSnapshot)).toHaveLength(1))
  expect(of(deleteSnapshot)[0]?.path).toContain('/api/netvolume/v-000000/snapshot/s-000000')
})

test('[R2.25] one is restored into a new volume, whose name and size are asked for', async () => {
  const { dialog, of } = await open(madeSnapshots({}), { [restoreSnapshot.operation]: () => madeVolume() })
  await userEvent.click(await dialog.findByRole('button', { name: /^Restore the snapshot of/ }))
  const form = within(await screen.findByRole('dialog', { name: 'Restore into a new volume' }))
  await userEvent.type(form.getByLabelText('Name'), 'back')
  await userEvent.click(form.getByRole('button', { name: 'Restore' }))
  await waitFor(() => expect(of(restoreSnapshot)).toHaveLength(1))
  expect(of(restoreSnapshot)[0]?.body).toEqual({ name: 'back', size_gb: 100 })
})

test('[R1.2] a schedule is set with what it will cost in view, and says why none was taken', async () => {
  const skipped = { skipped: 'insufficient_balance', skipped_at: '2026-11-20T03:00:00.000Z' } as const
  const { dialog, of } = await open(madeSnapshots({}, { every: 'daily', hour: 3, keep: 7, ...skipped }), {
    [scheduleSnapshots.operation]: () => sampleOf(scheduleSnapshots.data),
  })
  expect(await dialog.findByText(/None was taken on .*: the balance was too low\./)).toBeTruthy()
  expect(dialog.getByText(/Up to 7 of about 83 GB: \$0\.9296 \/day\./)).toBeTruthy()
  const keep = dialog.getByLabelText('Keep the last')
  await userEvent.clear(keep)
  await userEvent.type(keep, '31')
  await userEvent.click(dialog.getByRole('button', { name: 'Save schedule' }))
  expect(of(scheduleSnapshots)).toEqual([])
  await userEvent.clear(keep)
  await userEvent.type(keep, '3')
  await userEvent.click(dialog.getByRole('button', { name: 'Save schedule' }))
  await waitFor(() => expect(of(scheduleSnapshots)).toHaveLength(1))
  expect(of(scheduleSnapshots)[0]?.body).toEqual({ every: 'daily', hour: 3, weekday: 0, keep: 3 })
})

test('[R1.2] a schedule ends also where how many are kept was left empty', async () => {
  const { dialog, of } = await open(madeSnapshots({}, { every: 'hourly', hour: 3, keep: 7 }), {
    [scheduleSnapshots.operation]: () => sampleOf(scheduleSnapshots.data),
  })
  await userEvent.clear(await dialog.findByLabelText('Keep the last'))
  await userEvent.click(dialog.getByRole('combobox', { name: 'Taken' }))
  await userEvent.click(await screen.findByRole('option', { name: 'never' }))
  await userEvent.click(dialog.getByRole('button', { name: 'Save schedule' }))
  await waitFor(() => expect(of(scheduleSnapshots)).toHaveLength(1))
  expect(of(scheduleSnapshots)[0]?.body).toEqual({ every: 'off', hour: 3, weekday: 0, keep: 7 })
})
