import { listApiKeys } from '@berth/contract/api-keys'
import { getCallBody } from '@berth/contract/model-keeping'
import { listModels } from '@berth/contract/models'
import { downloadSessionLog, type LoggedCall, listSessionLog } from '@berth/contract/session-log'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { logSearch, queryOfSearch } from './log-search.ts'
import { Page } from './SessionLogsPage.tsx'

const KEY_ID = '01890000-0000-7000-8000-000000000001'

const call = (part: Partial<LoggedCall>): LoggedCall => ({
  id: '01890000-0000-7000-8000-00000000000a',
  model_id: 'meta/one',
  model_name: 'One',
  source: 'api',
  key_id: KEY_ID,
  key_name: 'laptop',
  streamed: true,
  status: 'done',
  error_code: null,
  started_at: '2026-11-20T18:25:00.000Z',
  latency_ms: 2_340,
  first_token_ms: 212,
  input_tokens: 1_200,
  cached_tokens: 200,
  output_tokens: 340,
  images: 0,
  video_seconds: 0,
  estimated: false,
  kept: false,
  cost_micro: '2917',
  ...part,
})
const DONE = call({})
const FAILED = call({
  id: '01890000-0000-7000-8000-00000000000b',
  ...{ source: 'console', key_id: null, key_name: null },
  ...{ status: 'failed', error_code: 'refused', latency_ms: 80, first_token_ms: null },
  ...{ estimated: true, cached_tokens: 0, input_tokens: 0, output_tokens: 0, cost_micro: '0' },
})
const TOTALS = {
  ...{ calls: 61, failed: 1, input_tokens: 73_200, cached_tokens: 0, output_tokens: 20_400 },
  ...{ images: 0, video_seconds: 0, cost_micro: '177937' },
}

test('[R1.5] each call says its model, key, time, tokens and cost, and why it failed', async () => {
  await open()
  const rows = await screen.findAllByRole('row')
  const done = rows.find(row => row.textContent?.includes('laptop')) as HTMLElement
  for (const text of ['One', 'Answered', '2.3 s', 'first token 212 ms', '1,200 in, 200 cached', '340 out'])
    expect(within(done).getByText(text)).toBeTruthy()
  expect(within(done).getByText('$0.002917')).toBeTruthy()
  const failed = rows.find(row => row.textContent?.includes('Failed')) as HTMLElement
  expect(within(failed).getByText('estimated')).toBeTruthy()
  expect(within(done).queryByText('estimated')).toBeNull()
  for (const text of ['Console', 'The server refused the question', '80 ms', 'Not charged'])
    expect(within(failed).getByText(text)).toBeTruthy()
  expect(screen.getByText(/^61 calls, 1 failed, 73,200 tokens in, 20,400 out, \$0\.177937$/)).toBeTruthy()
})

test('[R1.5] a call that made pictures or a video says how many, and the totals with it', async () => {
  const list = {
    items: [
      call({ input_tokens: 0, cached_tokens: 0, output_tokens: 0, images: 2 }),
      call({ id: FAILED.id, input_tokens: 0, cached_tokens: 0, output_tokens: 0, video_seconds: 1 }),
    ],
    next_cursor: null,
    totals: { ...TOTALS, images: 2, video_seconds: 1 },
    currency: 'USD',
  }
  await open({ [listSessionLog.operation]: () => list }, '', '2 pictures')
  expect(screen.getByText('1 second of video')).toBeTruthy()
  expect(screen.queryByText('0 in')).toBeNull()
  expect(screen.getByText(/20,400 out, 2 pictures, 1 second of video, \$0\.177937$/)).toBeTruthy()
})

test('of pictures alone the totals say no tokens', async () => {
  const totals = { ...TOTALS, calls: 1, failed: 0, input_tokens: 0, output_tokens: 0, images: 1 }
  const row = call({ input_tokens: 0, cached_tokens: 0, output_tokens: 0, images: 1 })
  const list = { items: [row], next_cursor: null, totals, currency: 'USD' }
  await open({ [listSessionLog.operation]: () => list }, '', '1 picture')
  expect(screen.getByText('1 call, 0 failed, 1 picture, $0.177937')).toBeTruthy()
})

test('in a narrow table no two columns of the log stand in the same place', async () => {
  await open()
  const row = screen.getByText('laptop').closest('tr') as HTMLTableRowElement
  const places = [...row.cells].map(cell => cell.dataset.narrow).filter(place => place !== 'none')
  expect(places).toEqual(['under', 'name', 'last', 'end', 'actions'])
})

test('[R1.5] filters stand in the address; list and file are asked for the same', async () => {
  const at = `?model=meta%2Fone&key=${KEY_ID}&status=failed&source=api&from=2026-11-01&to=2026-11-19`
  const { sent, page } = await open({}, at)
  await screen.findByText('laptop')
  const query = new URLSearchParams(
    queryOfSearch(logSearch.parse(Object.fromEntries(new URLSearchParams(at)))),
  )
  expect([...query.keys()].sort()).toEqual(['from', 'key', 'model', 'source', 'status', 'until'])
  const asked = (operation: string) =>
    sent.findLast(one => one.operation === operation)?.path.split('?')[1] ?? ''
  expect(asked(listSessionLog.operation)).toBe(query.toString())
  const saved = keepSaved()
  act(() => screen.getByRole('button', { name: 'Export CSV' }).click())
  await waitFor(() => expect(saved).toEqual(['session-logs.csv']))
  expect(asked(downloadSessionLog.operation)).toBe(query.toString())
  fireEvent.change(screen.getByLabelText('Status'), { target: { value: '' } })
  await waitFor(() => expect(page.search()).not.toContain('status='))
  act(() => screen.getByRole('button', { name: 'Clear filters' }).click())
  await waitFor(() => expect(asked(listSessionLog.operation)).toBe(''))
  // An address that was made up narrows nothing.
  expect(logSearch.parse({ key: 'x', status: 'x', from: '2026-02-30' })).toEqual(logSearch.parse({}))
})

test('[R1.5] a call that is kept is opened in place to what it asked and was answered; others cannot be', async () => {
  const { sent } = await open({
    [listSessionLog.operation]: () => ({
      items: [{ ...DONE, kept: true }, FAILED],
      next_cursor: null,
      totals: TOTALS,
      currency: 'USD',
    }),
    [getCallBody.operation]: () => ({
      question: '{"messages":[{"role":"user","content":"How are you?"}]}',
      answer: 'Fine.',
      cut: true,
      deleted_at: '2026-12-01T00:00:00.000Z',
    }),
  })
  const [button, ...others] = screen.getAllByRole('button', { name: 'What was asked and answered: One' })
  expect(others).toEqual([])
  expect(button?.getAttribute('aria-expanded')).toBe('false')
  act(() => button?.click())
  const body = await screen.findByRole('region', { name: 'What was asked and answered' })
  await within(body).findByText('Fine.')
  expect(within(body).getByText(/"content": "How are you\?"/)).toBeTruthy()
  expect(within(body).getByText(/^It was longer than is kept\. It is deleted on/)).toBeTruthy()
  expect(sent.find(({ operation }) => operation === getCallBody.operation)?.path).toContain(DONE.id)
  act(() => screen.getByRole('button', { name: 'What was asked and answered: One' }).click())
  await waitFor(() => expect(screen.queryByText('Fine.')).toBeNull())
})

test('older calls come behind those that are shown', async () => {
  const { sent } = await open({
    [listSessionLog.operation]: ({ path }) =>
      path.includes('cursor=next')
        ? { items: [FAILED], next_cursor: null, totals: null, currency: 'USD' }
        : { items: [DONE], next_cursor: 'next', totals: TOTALS, currency: 'USD' },
  })
  act(() => screen.getByRole('button', { name: 'Show older calls' }).click())
  await screen.findByText('The server refused the question')
  expect(screen.getByText('laptop')).toBeTruthy()
  expect(screen.queryByRole('button', { name: 'Show older calls' })).toBeNull()
  expect(screen.getByText(/^61 calls/)).toBeTruthy()
  expect(sent.filter(({ operation }) => operation === listSessionLog.operation).length).toBeGreaterThan(1)
})

test.each([
  { at: '', says: 'No calls yet' },
  { at: '?status=lost', says: 'No call matches' },
])('says why there is nothing: $says', async ({ at, says }) => {
  const none = { ...TOTALS, calls: 0, failed: 0, input_tokens: 0, output_tokens: 0, cost_micro: '0' }
  await open(
    {
      [listSessionLog.operation]: () => ({ items: [], next_cursor: null, totals: none, currency: 'USD' }),
    },
    at,
    says,
  )
  expect(screen.queryByText(/^0 calls/)).toBeNull()
})

test('a look that failed says so, and can be tried again', async () => {
  let isBroken = true
  await open(
    {
      [listSessionLog.operation]: () =>
        isBroken
          ? new Refusal([], 'forbidden', 403)
          : { items: [DONE], next_cursor: null, totals: TOTALS, currency: 'USD' },
    },
    '',
    'This could not be loaded',
  )
  isBroken = false
  act(() => screen.getByRole('button', { name: 'Try again' }).click())
  expect(await screen.findByText('laptop')).toBeTruthy()
})

/** @param shows What is there once it was answered. */
async function open(answers: Answers = {}, at = '', shows = 'One') {
  const { sent } = await answerCalls({
    [listSessionLog.operation]: () => ({
      items: [DONE, FAILED],
      next_cursor: null,
      totals: TOTALS,
      currency: 'USD',
    }),
    [listModels.operation]: () => [],
    [listApiKeys.operation]: () => [],
    [downloadSessionLog.operation]: () =>
      new Response('Started\r\n', { headers: { 'content-type': 'text/csv; charset=utf-8' } }),
    ...answers,
  })
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['session-logs', 'models'], at },
  )
  await screen.findAllByText(shows)
  return { page, sent }
}

/** The names under which files are saved from here on. */
function keepSaved(): string[] {
  const saved: string[] = []
  URL.createObjectURL ??= () => ''
  URL.revokeObjectURL ??= () => undefined
  const spies = [
    vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:a'),
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
      saved.push(this.download)
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return saved
}
