import { listTransactions, type Transaction } from '@berth/contract/billing'
import { getInstance } from '@berth/contract/instance-page'
import { getConnection, listInstanceEvents } from '@berth/contract/instances'
import { listVolumes } from '@berth/contract/volumes'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, onTestFinished, test } from 'vitest'
import { onUnseen } from '../../api/cache-lifecycle.ts'
import { queryClient } from '../../api/query-client.ts'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeInstance } from '../../instances/instance-fixture.ts'
import { Page } from './InstancePage.tsx'

const ID = 'i-7q2m9x'
const running = madeInstance({
  instance_id: ID,
  name: 'llama-finetune',
  status: 'running',
  ready_at: '2026-11-20T12:00:30.000Z',
  cost_micro: '5230000',
  http_ports: [8888],
})

async function open(
  answers: Parameters<typeof answerCalls>[0],
  options: Parameters<typeof answerCalls>[1] & { at?: string } = {},
) {
  const { at = `?id=${ID}`, ...rest } = options
  const calls = await answerCalls(answers, rest)
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['instance', 'instances', 'events'], at },
  )
  return { ...calls, page }
}

const answering = (instance: typeof running) => ({
  [getInstance.operation]: () => instance,
  [listTransactions.operation]: () => ({ items: [], total: 0, page: 1, page_size: 4 }),
  [listInstanceEvents.operation]: () => [],
  [getConnection.operation]: () => ({
    instance_id: ID,
    http: [{ port: 8888, url: 'http://s-8888.localhost/', listening: true }],
    ssh: { host: 'berth.example', port: 2222, user: ID, fingerprints: [], own_server: false },
    tcp: [],
    udp: [],
    terminal: { running: false },
    guest: null,
  }),
})

test('[R4.5] the page of a running instance says what it is, what it costs, and how it is reached', async () => {
  await open({
    ...answering(running),
    [listInstanceEvents.operation]: () => [
      { id: '2', at: '2026-11-20T12:00:30.000Z', status: 'running', code: 'ready', detail: '' },
      { id: '1', at: '2026-11-20T12:00:00.000Z', status: 'creating', code: 'deployed', detail: '' },
    ],
  })
  expect(await screen.findByRole('heading', { level: 1, name: 'llama-finetune' })).toBeTruthy()
  expect(screen.getByText('$5.23')).toBeTruthy()
  expect(await screen.findByText(`ssh ${ID}@berth.example -p 2222`)).toBeTruthy()
  expect(screen.getByRole('link', { name: 'Open port 8888 in a new tab' })).toBeTruthy()
  const [newest, oldest] = within(await screen.findByRole('list')).getAllByRole('listitem')
  expect(newest?.textContent).toContain('Ready, the meter starts')
  expect(oldest?.textContent).toContain('Deployedby you')
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Stop' })))
  expect(await screen.findByRole('dialog', { name: 'Stop llama-finetune?' })).toBeTruthy()
})

test('[R4.5] an instance that has just stopped is no failure of the look for its ways in', async () => {
  const unseen: string[] = []
  onUnseen(({ code }) => unseen.push(code))
  onTestFinished(() => onUnseen(() => undefined))
  let refused = 0
  const answers = answering(running)
  const ways = answers[getConnection.operation]
  let isGone = false
  await open({
    ...answers,
    [getConnection.operation]: () => {
      if (!isGone) return ways()
      refused += 1
      return new Refusal([], 'instance_not_running', 409)
    },
  })
  await screen.findByText(`ssh ${ID}@berth.example -p 2222`)
  isGone = true
  await act(() => queryClient.refetchQueries({ queryKey: [getConnection.operation] }))
  expect(refused).toBeGreaterThan(0)
  expect(unseen).toEqual([])
})

test('[R3.11] a network volume is named as its customer has named it', async () => {
  const { disks } = running
  const mounted = { ...running, disks: { ...disks, network_volume: { id: 'v-abc123', path: '/data' } } }
  await open({
    ...answering(mounted),
    [listVolumes.operation]: () => [
      { id: 'v-other1', name: 'weights' },
      { id: 'v-abc123', name: 'datasets' },
    ],
  })
  expect(await screen.findByText('Network volume datasets at /data')).toBeTruthy()
})

test('[B13] each part of the page is gone to from the bar at the foot, by keyboard too', async () => {
  await open(answering(running))
  const bar = await screen.findByRole('navigation', { name: 'Parts of this page' })
  expect(within(bar).getByRole('button', { name: 'Files' })).toBeTruthy()
  const went = new Set<string | undefined>()
  for (const button of within(bar).getAllByRole('button')) {
    await act(async () => fireEvent.click(button))
    went.add(document.activeElement?.id)
  }
  expect([...went]).toEqual(['part-overview', 'part-logs', 'part-files', 'part-ports', 'part-events'])
})

test('[B2] what an instance has cost is never less than its stretches beside it, which are read on their own', async () => {
  const stretch: Transaction = {
    id: 'usage-1',
    date: '2026-11-20T12:00:30.000Z',
    type: 'usage',
    status: 'pending',
    currency: 'USD',
    amount_micro: '-5200000',
    cash_amount_micro: '0',
    bonus_amount_micro: '-5200000',
    coupon_amount_micro: '0',
    pending_amount_micro: '-60000',
    invoice: null,
    about: {
      usage: 'compute',
      instance_id: ID,
      instance_name: 'llama-finetune',
      volume_name: null,
      image_name: null,
      model_name: null,
      gpu_spec_name: 'RTX 4090',
      gpu_count: 1,
      address: null,
      seconds: 7200,
      rate_micro_per_hour: '2630000',
      sent_bytes: null,
      tokens: null,
      charge_cycle: null,
      card: null,
      credit_reason: null,
      refund_reason: null,
      origin: null,
      waits_for: null,
      failure: null,
    },
  }
  await open({
    ...answering(running),
    [listTransactions.operation]: () => ({ items: [stretch], total: 1, page: 1, page_size: 4 }),
  })
  expect(await screen.findByText(/^Running, 2 h/)).toBeTruthy()
  expect(screen.getAllByText(/^\$5\.26/)).toHaveLength(2)
})

test.each([
  ['somebody else’s, or one that was terminated', `?id=${ID}`],
  ['what is no id at all', '?id=../../etc'],
  ['no id', ''],
])('the page says in words that there is no such instance: %s', async (_what, at) => {
  await open({ [getInstance.operation]: () => new Refusal([], 'not_found', 404) }, { at })
  expect(await screen.findByText('There is no such instance')).toBeTruthy()
  expect(screen.getByRole('link', { name: 'To the instances' }).getAttribute('href')).toBe('/instance-list')
})

test('a page that could not be loaded says why, and can be tried again', async () => {
  let fails = true
  await open({
    ...answering(running),
    [getInstance.operation]: () => (fails ? new Refusal([], 'forbidden', 403) : running),
  })
  const retry = await screen.findByRole('button', { name: 'Try again' })
  fails = false
  await act(async () => fireEvent.click(retry))
  expect(await screen.findByRole('heading', { level: 1, name: 'llama-finetune' })).toBeTruthy()
})

test('[B6] while it starts, its steps stand where one looks, with what has come of the image', async () => {
  const starting = madeInstance({
    ...running,
    status: 'pulling',
    ready_at: null,
    cost_micro: '0',
    progress: { step: 'pulling', percent: 37, bytes_done: 6_100_000_000, bytes_total: 16_300_000_000 },
  })
  await open(answering(starting))
  expect(await screen.findByText('Getting ready')).toBeTruthy()
  const now = screen.getAllByRole('listitem').find(item => item.getAttribute('aria-current') === 'step')
  expect(now?.textContent).toContain('Pulling37 %6.1 GB of 16.3 GB')
  expect(screen.getByText('billed from the moment it is ready')).toBeTruthy()
  const connect = screen.getByRole('button', { name: 'Connect' })
  expect(connect.getAttribute('aria-disabled')).toBe('true')
})

test('[R4.2] whoever is not verified sees the page, and why its actions are off', async () => {
  const { sent } = await open(answering(running), { user: customer({ emailVerified: false }) })
  expect((await screen.findByRole('button', { name: 'Stop' })).getAttribute('aria-disabled')).toBe('true')
  // Of the ways in, and of the files.
  await waitFor(() => expect(screen.getAllByText(/The account is not activated/).length).toBe(2))
  expect(sent.map(({ operation }) => operation)).not.toContain(getConnection.operation)
})
