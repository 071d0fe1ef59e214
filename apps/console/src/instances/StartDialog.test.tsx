import { getPrice, startInstance } from '@berth/contract/instances'
import { type GpuSpec, gpuSpec, listGpuSpecs } from '@berth/contract/regions'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { sampleOf } from '../schema-fixture.ts'
import { madeInstance } from './instance-fixture.ts'
import { StartDialog } from './StartDialog.tsx'

const specOf = (part: Partial<GpuSpec>): GpuSpec => ({
  ...(sampleOf(gpuSpec) as GpuSpec),
  region_code: 'us-west',
  gpu: true,
  simulated: false,
  counts: [1, 2, 4],
  ...part,
})

/** Opens the dialog of an instance that ran on two of one spec. */
async function open(specs: readonly GpuSpec[]) {
  const sent = vi.fn()
  await answerCalls({
    [listGpuSpecs.operation]: () => specs,
    [getPrice.operation]: () => ({
      ...(sampleOf(getPrice.data) as object),
      currency: 'USD',
      running_micro_per_hour: '2390000',
    }),
    [startInstance.operation]: ({ body }) => {
      sent(body)
      return { instance_id: 'i-000000', status: 'creating' }
    },
  })
  const instance = madeInstance({ status: 'stopped', gpu_count: 2 })
  await renderInPage(
    () => (
      <InShell>
        <StartDialog instance={instance} opened onClose={() => undefined} />
      </InShell>
    ),
    { namespaces: ['instances'] },
  )
  const start = () => screen.findByRole<HTMLButtonElement>('button', { name: 'Start' })
  return { sent, start }
}

const own = specOf({ id: 'rtx4090', name: 'RTX 4090', available: 8 })
const other = specOf({ id: 'h100', name: 'H100', available: 1, price_micro_per_hour: '2390000' })

test('[R2.24] [R4.5] it starts on what it had, at today’s price', async () => {
  const { sent, start } = await open([own, other])
  expect(await screen.findByText(/costs \$2\.3900 \/h/)).toBeTruthy()
  expect(screen.getByText(/The first hour, \$2\.39/)).toBeTruthy()
  const button = await start()
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sent).toHaveBeenCalledOnce())
  expect(sent).toHaveBeenCalledWith({ instance_id: 'i-000000', gpu_spec_id: 'rtx4090', gpu_count: 2 })
})

test('[R4.5] another machine may be chosen, in a number that is there', async () => {
  const { sent, start } = await open([own, other])
  fireEvent.click(await screen.findByRole('combobox', { name: 'Machine' }))
  const option = await screen.findByText('H100 · $2.39 /h · 1 free')
  await act(async () => fireEvent.click(option))
  expect(screen.getByRole<HTMLInputElement>('radio', { name: '1' }).checked).toBe(true)
  expect(screen.getByRole<HTMLInputElement>('radio', { name: '2' }).disabled).toBe(true)
  const button = await start()
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sent).toHaveBeenCalledOnce())
  expect(sent).toHaveBeenCalledWith({ instance_id: 'i-000000', gpu_spec_id: 'h100', gpu_count: 1 })
})

test('what is taken by others says so, and is not started', async () => {
  const { start } = await open([specOf({ id: 'rtx4090', name: 'RTX 4090', available: 1 }), other])
  expect(await screen.findByText(/not enough of these free in us-west/)).toBeTruthy()
  expect((await start()).disabled).toBe(true)
})
