import { createVolume, deleteVolume, getVolumePrice, growVolume, listVolumes } from '@berth/contract/volumes'
import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell } from '../../gateway-fixture.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { Page } from './NetworkVolumePage.tsx'
import { madeVolume } from './volume-fixture.ts'

const price = {
  ...(sampleOf(getVolumePrice.data) as object),
  currency: 'USD',
  size_gb: 500,
  micro_per_gb_day: '1600',
  micro_per_day: '800000',
  micro_per_month: '24000000',
  now_micro_per_day: '160000',
  reserve_cents: 80,
  regions: [
    { region_code: 'us-west', region_name: 'us-west', kinds: ['files'], shared: true, size_enforced: false },
  ],
}

async function open(volumes: unknown[], answers: Answers = {}) {
  const { sent } = await answerCalls({
    [listVolumes.operation]: () => volumes,
    [getVolumePrice.operation]: () => price,
    ...answers,
  })
  await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['volumes'] },
  )
  return { of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation) }
}

async function choose(name: string, action: string): Promise<void> {
  const row = (await screen.findByText(name)).closest('tr') as HTMLElement
  await userEvent.click(within(row).getAllByRole('button').at(-1) as HTMLElement)
  await userEvent.click(await screen.findByRole('menuitem', { name: new RegExp(`^${action}`) }))
}

describe('the page of network volumes', () => {
  test('[R3.11] lists each with its size, region, who has it and what it costs, and all of them together', async () => {
    const held = { instance_id: 'i-000001', name: 'trainer', status: 'running', path: '/data' }
    await open([
      madeVolume({ attached_to: [held as never] }),
      madeVolume({ id: 'v-000001', name: 'ckpt', size_gb: 50, micro_per_day: '80000' }),
    ])
    const row = (await screen.findByText('datasets')).closest('tr') as HTMLElement
    for (const said of ['100 GB · v-000000', 'us-west', 'trainer', '/data', '$4.80 /month']) {
      expect(within(row).getByText(said)).toBeTruthy()
    }
    expect(screen.getByText(/^150 GB: \$0\.2400 \/day/)).toBeTruthy()
  })

  test('[R3.11] of a volume of objects it says that S3 alone reaches it, not that no instance has it yet', async () => {
    await open([
      madeVolume({ name: 'assets', kind: 'objects' }),
      madeVolume({ id: 'v-000001', name: 'files' }),
    ])
    const row = (await screen.findByText('assets')).closest('tr') as HTMLElement
    expect(within(row).getByText('by S3 alone')).toBeTruthy()
    expect(screen.getAllByText('no instance')).toHaveLength(1)
    await choose('assets', 'Details')
    const dialog = within(await screen.findByRole('dialog'))
    expect(dialog.getByText('by S3 alone')).toBeTruthy()
  })

  test('says what to do where there is none', async () => {
    await open([])
    expect(await screen.findByText('No network volumes yet')).toBeTruthy()
  })

  test('[R2.25] where a region has both kinds, one is chosen, and says what has it', async () => {
    const [region] = price.regions
    const both = { ...price, regions: [{ ...region, kinds: ['files', 'objects'] }] }
    const { of } = await open([], {
      [getVolumePrice.operation]: () => both,
      [createVolume.operation]: () => madeVolume({ kind: 'objects' }),
    })
    await userEvent.click((await screen.findAllByRole('button', { name: /^Create/ }))[0] as HTMLElement)
    await userEvent.type(await screen.findByLabelText('Name'), 'assets')
    await userEvent.click(await screen.findByLabelText('Holds', { selector: 'input' }))
    await userEvent.click(await screen.findByText('Objects, by S3 alone'))
    expect(await screen.findByText(/No instance has it as a folder/)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Create' }))
    await waitFor(() => expect(of(createVolume)).toHaveLength(1))
    expect(of(createVolume)[0]?.body).toMatchObject({ kind: 'objects', name: 'assets' })
  })

  test('[R2.25] one of objects is not attached, and says why', async () => {
    await open([madeVolume({ kind: 'objects' })])
    const row = (await screen.findByText('datasets')).closest('tr') as HTMLElement
    await userEvent.click(within(row).getAllByRole('button').at(-1) as HTMLElement)
    const attach = await screen.findByRole('menuitem', { name: /^Attach/ })
    expect(attach.textContent).toContain('programs in it reach that by S3')
  })

  test('[R2.25] makes one with its price in view, and sends it once', async () => {
    const { of } = await open([], { [createVolume.operation]: () => madeVolume() })
    await screen.findByText('No network volumes yet')
    await userEvent.click(screen.getAllByRole('button', { name: 'Create volume' })[0] as HTMLElement)
    await userEvent.type(await screen.findByLabelText('Name'), 'datasets')
    expect(await screen.findByText('$24.00 /month')).toBeTruthy()
    expect(screen.getByText(/Several instances may run with it at once/)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Create' }))
    await waitFor(() => expect(of(createVolume)).toHaveLength(1))
    expect(of(createVolume)[0]?.body).toEqual({
      kind: 'files',
      name: 'datasets',
      region_code: 'us-west',
      size_gb: 100,
    })
  })

  test('[R5.7] [R2.25] deletes one by its exact name alone', async () => {
    const { of } = await open([madeVolume()], { [deleteVolume.operation]: () => madeVolume() })
    await choose('datasets', 'Delete')
    const field = await screen.findByLabelText('Type datasets to confirm')
    await userEvent.type(field, 'Datasets')
    await userEvent.click(screen.getByRole('button', { name: 'Delete' }))
    expect(await screen.findByText('Volume name is incorrect')).toBeTruthy()
    expect(of(deleteVolume)).toEqual([])
    expect((field as HTMLInputElement).value).toBe('Datasets')
    await userEvent.clear(field)
    await userEvent.type(field, 'datasets')
    await userEvent.click(screen.getByRole('button', { name: 'Delete' }))
    await waitFor(() => expect(of(deleteVolume)).toHaveLength(1))
    expect(of(deleteVolume)[0]?.path).toContain('/api/netvolume/v-000000?name=datasets')
  })

  test('[R2.25] grows one, with its price before and after', async () => {
    const { of } = await open([madeVolume()], { [growVolume.operation]: () => madeVolume() })
    await choose('datasets', 'Grow')
    const field = await screen.findByLabelText('Size')
    await userEvent.clear(field)
    await userEvent.type(field, '500')
    const note = within(await screen.findByLabelText('What it costs'))
    expect(await note.findByText('$0.1600 /day')).toBeTruthy()
    expect(note.getByText('$0.8000 /day')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Grow' }))
    await waitFor(() => expect(of(growVolume)).toHaveLength(1))
    expect(of(growVolume)[0]?.body).toEqual({ size_gb: 500 })
  })

  test('[R3.11] says how much of each is used, in words where that is not known, and offers to grow what is nearly full', async () => {
    const GB = 1024 ** 3
    const over = { over_since: '2026-11-20T10:00:00.000Z', read_only_on: '2026-11-21T10:00:00.000Z' }
    await open([
      madeVolume({ used_bytes: 82 * GB }),
      madeVolume({ id: 'v-000001', name: 'ckpt', used_bytes: 96.5 * GB, near_full: true }),
      madeVolume({ id: 'v-000002', name: 'fresh' }),
      madeVolume({ id: 'v-000003', name: 'many', measure_trouble: 'too_long' }),
      madeVolume({ id: 'v-000004', name: 'gone', status: 'deleting', used_bytes: 61 * GB }),
      madeVolume({
        id: 'v-000005',
        name: 'much',
        used_bytes: 120 * GB,
        near_full: true,
        read_only: true,
        ...over,
      }),
    ])
    const rowOf = async (name: string) => within((await screen.findByText(name)).closest('tr') as HTMLElement)
    const said: [string, string[]][] = [
      ['datasets', ['82 of 100 GB', '82%', 'S3 access']],
      ['ckpt', ['97 of 100 GB', '3.5 GB left', 'Grow']],
      ['fresh', ['not measured yet']],
      ['many', ['not measured: too many files to count']],
      ['gone', ['61 of 100 GB when last seen']],
      ['much', ['20 GB too much', 'Read-only', 'it has held more than its size for a day: make it larger']],
    ]
    for (const [name, texts] of said) {
      const row = await rowOf(name)
      for (const text of texts) expect(row.getByText(text)).toBeTruthy()
    }
  })

  test('says why one that an instance has cannot be deleted, and when one that is not paid for is', async () => {
    const held = { instance_id: 'i-000001', name: 'trainer', status: 'stopped', path: '/data' }
    const unpaid = { unpaid_since: '2026-11-01T10:00:00.000Z', deleted_on: '2026-11-15T10:00:00.000Z' }
    await open([madeVolume({ attached_to: [held as never], ...unpaid })])
    expect(await screen.findByText('Not paid for')).toBeTruthy()
    expect(screen.getByText(/unless you top up/)).toBeTruthy()
    const row = screen.getByText('datasets').closest('tr') as HTMLElement
    await userEvent.click(within(row).getAllByRole('button').at(-1) as HTMLElement)
    const item = await screen.findByRole('menuitem', { name: /^Delete/ })
    expect(item.getAttribute('aria-disabled') === 'true' || item.hasAttribute('data-disabled')).toBe(true)
    expect(screen.getByText('An instance has it. Detach it first.')).toBeTruthy()
  })
})
