import { type GpuSpec, gpuSpec } from '@berth/contract/regions'
import { act, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { Offers } from './Offers.tsx'

const specOf = (part: Partial<GpuSpec>): GpuSpec => ({
  ...(sampleOf(gpuSpec) as GpuSpec),
  region_code: 'us-west',
  gpu: true,
  simulated: false,
  stock_known: true,
  kinds: ['POD'],
  counts: [1, 2],
  available: 8,
  total: 8,
  ...part,
})
const card = {
  price_micro_per_week: '63504000',
  price_micro_per_month: '241920000',
  id: 'rtx-4090',
  name: 'RTX 4090',
  vram_gb: 24,
  vcpu: 12,
  memory_gb: 64,
}
const SPECS = [
  specOf({ ...card, price_micro_per_hour: '420000' }),
  specOf({ ...card, region_code: 'eu', available: 2, price_micro_per_hour: '420000', kinds: ['POD', 'VM'] }),
  specOf({ ...card, region_code: 'ap', available: 0, price_micro_per_hour: '420000' }),
  specOf({ id: 'h100', name: 'H100', vram_gb: 80, available: 0, price_micro_per_hour: '2390000' }),
  specOf({ id: 'b200', name: 'B200', vram_gb: 192, stock_known: false, price_micro_per_hour: '4990000' }),
]
const REGIONS = [
  { code: 'us-west', name: 'us-west', enabled: true, draining: false, traffic_micro_per_gb: '0' },
  { code: 'eu', name: 'Frankfurt', enabled: true, draining: false, traffic_micro_per_gb: '0' },
  { code: 'ap', name: 'Singapore', enabled: true, draining: false, traffic_micro_per_gb: '0' },
  { code: 'sa', name: 'São Paulo', enabled: false, draining: false, traffic_micro_per_gb: '0' },
  { code: 'us-east', name: 'us-east', enabled: false, draining: true, traffic_micro_per_gb: '0' },
]

async function open(at = '') {
  await answerCalls({})
  return renderInPage(
    () => (
      <InShell>
        <Offers specs={SPECS} regions={REGIONS} images={[]}>
          {chosen => <output>form for {chosen.name}</output>}
        </Offers>
      </InShell>
    ),
    { namespaces: ['explore', 'offers'], at },
  )
}

const radios = () =>
  screen.queryAllByRole('radio').filter(one => (one as HTMLInputElement).name === 'gpu_spec')
const names = () => radios().map(one => (one as HTMLInputElement).value)
const offer = (name: RegExp) => screen.getByRole('radio', { name }) as HTMLInputElement
const openFilters = () => userEvent.click(screen.getByRole('button', { name: /^Filters/ }))

describe('offers', () => {
  test('[R1.1] [R3.3] say of each region whether there is some, little, none, or that nobody can tell', async () => {
    await open()
    expect(names()).toEqual(['rtx-4090', 'h100', 'b200'])
    const four = offer(/RTX 4090.*Available.*24 GB · 12 vCPU · 64 GB.*\$0\.42 \/h/)
    expect(four.checked).toBe(true)
    const shown = four.parentElement as HTMLElement
    within(shown).getByText('us-west')
    within(shown).getByText('Frankfurt: Low: 2 left')
    within(shown).getByText('Singapore: Sold out')
    // It can be chosen, to be watched.
    expect(offer(/H100.*Sold out/).disabled).toBe(false)
    expect(offer(/B200.*Cannot tell/).disabled).toBe(false)
  })

  test.each([
    ['?region=eu', ['rtx-4090']],
    ['?model=h100', ['h100']],
    ['?vram=80', ['h100', 'b200']],
    ['?price=2.39', ['rtx-4090', 'h100']],
    ['?price=0.419999', []],
    ['?available=yes', ['rtx-4090']],
    ['?kind=VM', ['rtx-4090']],
    ['?vram=24&available=yes&region=ap', []],
    ['?sort=price_down', ['b200', 'h100', 'rtx-4090']],
    ['?sort=name', ['b200', 'h100', 'rtx-4090']],
  ])('[R1.1] a link shows what it was copied from: %s', async (at, expected) => {
    await open(at)
    expect(names()).toEqual(expected)
    expect(screen.queryByText(/was left out/)).toBeNull()
  })

  test('[R1.1] filters and the order stand in the address, and another address changes what stands in their fields', async () => {
    const page = await open()
    await openFilters()
    await userEvent.selectOptions(screen.getByLabelText('GPU memory, at least'), '80')
    await waitFor(() => expect(names()).toEqual(['h100', 'b200']))
    await userEvent.selectOptions(screen.getByLabelText('Sort by'), 'price_down')
    await userEvent.type(screen.getByLabelText('USD an hour, at most'), '3')
    await waitFor(() => expect(names()).toEqual(['h100']))
    expect(new URLSearchParams(page.search())).toEqual(new URLSearchParams('vram=80&sort=price_down&price=3'))
    await userEvent.click(screen.getByRole('button', { name: 'Remove the filter: at least 80 GB' }))
    await waitFor(() => expect(names()).toEqual(['h100', 'rtx-4090']))
    await act(() => page.go('?price=0.5'))
    expect((screen.getByLabelText('USD an hour, at most') as HTMLInputElement).value).toBe('0.5')
  })

  test('what is no price says so and narrows nothing', async () => {
    await open()
    await openFilters()
    await userEvent.type(screen.getByLabelText('USD an hour, at most'), 'cheap')
    expect(await screen.findByText('Write an amount such as 0.50.')).toBeTruthy()
    expect(names()).toHaveLength(3)
  })

  test('where nothing matches, it says what hides how many, keeps the form, and one button clears it', async () => {
    const page = await open('?spec=rtx-4090')
    await act(() => page.go('?spec=rtx-4090&region=eu&vram=80'))
    await screen.findByText('No offer matches')
    screen.getByText('3 offers are hidden by: Frankfurt, at least 80 GB.')
    screen.getByText('form for RTX 4090')
    screen.getByText('The form below is about RTX 4090, which the filters hide.')
    await userEvent.click(screen.getByRole('button', { name: 'Clear all filters' }))
    await waitFor(() => expect(names()).toHaveLength(3))
    expect(page.search()).toBe('?spec=rtx-4090')
  })

  test('what makes no sense in the address is said, left out, and taken out of it', async () => {
    const page = await open('?region=mars&vram=lots&price=0.5&sort=odd&kind=BOAT&spec=gone')
    screen.getByText(
      /left out: region “mars”, GPU memory “lots”, kind “BOAT”, order “odd”, chosen GPU “gone”/,
    )
    expect(names()).toEqual(['rtx-4090'])
    await userEvent.click(screen.getByRole('button', { name: 'Remove it' }))
    await waitFor(() => expect(screen.queryByText(/left out/)).toBeNull())
    expect(page.search()).toBe('?price=0.5')
  })

  test('a region that is not open is none that can be asked for', async () => {
    await open('?region=sa')
    screen.getByText(/left out: region “sa”/)
  })

  test('a region that is closed for now says so', async () => {
    await open()
    const closed = screen.getByRole('radio', { name: 'us-east (takes nothing new for now)' })
    expect((closed as HTMLInputElement).disabled).toBe(true)
    screen.getByRole('radio', { name: 'São Paulo (not open)' })
  })

  test('[R1.4] [R3.3] cards or a table, with what a week and a month cost, is a choice that is kept', async () => {
    await open()
    await userEvent.click(screen.getByRole('radio', { name: 'Table' }))
    const row = await screen.findByRole('row', { name: /RTX 4090/ })
    for (const cell of ['24 GB', '12 vCPU', '64 GB', '$0.42 /h', '$63.50 /wk · $241.92 /mo'])
      within(row).getByText(cell)
    expect(
      within(row)
        .getAllByRole('listitem')
        .map(item => item.textContent),
    ).toEqual(['us-westAvailable', 'FrankfurtLow: 2 left', 'SingaporeSold out'])
    expect(localStorage.getItem('berth.offer-view')).toBe('table')
    await userEvent.click(offer(/B200/))
    await screen.findByText('form for B200')
  })
})
