import {
  followInstanceLogs,
  type LogEvent,
  type LogSearchEvent,
  searchInstanceLogs,
  startLogDownload,
} from '@berth/contract/instance-page'
import { getInstanceLogs, listInstanceEvents } from '@berth/contract/instances'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeInstance } from '../instance-fixture.ts'
import { LogPanel } from './LogPanel.tsx'

const instance = madeInstance({ name: 'llama' })

async function open(answers: Parameters<typeof answerCalls>[0]) {
  const calls = await answerCalls(answers)
  await renderInPage(
    () => (
      <InShell>
        <LogPanel instance={instance} title="Logs" />
      </InShell>
    ),
    { namespaces: ['instances', 'events'] },
  )
  return calls
}

/** An answer that streams, and goes on until the test ends it. */
function streaming() {
  const encoder = new TextEncoder()
  let to: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      to = controller
    },
  })
  return {
    response: () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    say: (event: Partial<LogEvent> | LogSearchEvent | Omit<LogSearchEvent, 'ended'>) =>
      to?.enqueue(
        encoder.encode(
          `:\n\ndata: ${JSON.stringify('bytes' in event ? { ended: null, ...event } : { lines: [], open: '', skipped: 0, ended: null, ...event })}\n\n`,
        ),
      ),
  }
}

test('[B9] the log is followed as it comes, as text whatever is in it, and searched', async () => {
  const log = streaming()
  await open({ [followInstanceLogs.operation]: log.response })
  log.say({ lines: ['step 1', '<img src=x onerror=alert(1)>'], open: 'step 2 …' })
  expect(await screen.findByText('step 2 …')).toBeTruthy()
  expect(screen.getByText('<img src=x onerror=alert(1)>')).toBeTruthy()
  expect(document.querySelector('img')).toBeNull()
  log.say({ lines: ['step 2', 'Loss 1.1'], skipped: 12 })
  expect(await screen.findByText('Loss 1.1')).toBeTruthy()
  expect(screen.getByText(/12 lines left out/)).toBeTruthy()
  expect(screen.queryByText('step 2 …')).toBeNull()
  await act(async () =>
    fireEvent.change(screen.getByLabelText('Find in the log'), { target: { value: 'LOSS' } }),
  )
  await waitFor(() => expect(screen.queryByText('step 1')).toBeNull())
  expect(screen.getByText('Loss').tagName).toBe('MARK')
  expect(screen.getByText('1 line')).toBeTruthy()
})

test('[B9] a program that runs and writes nothing is said to have written nothing', async () => {
  const log = streaming()
  await open({ [followInstanceLogs.operation]: log.response })
  expect(await screen.findByText('Nothing has been written yet.', {}, { timeout: 10_000 })).toBeTruthy()
  log.say({ lines: ['step 1'] })
  expect(await screen.findByText('step 1')).toBeTruthy()
})

test('[B9] what the system says stands apart from what the program writes', async () => {
  const log = streaming()
  await open({
    [followInstanceLogs.operation]: log.response,
    [listInstanceEvents.operation]: () => [
      { id: '2', at: '2026-11-20T12:00:30.000Z', status: 'running', code: 'ready', detail: '' },
      { id: '1', at: '2026-11-20T12:00:00.000Z', status: 'creating', code: 'deployed', detail: '' },
    ],
  })
  log.say({ lines: ['step 1'] })
  expect(await screen.findByText('step 1')).toBeTruthy()
  await act(async () => fireEvent.click(screen.getByLabelText('System')))
  const lines = await screen.findByRole('region', { name: 'Lines of the log' })
  await waitFor(() => expect(lines.textContent).toMatch(/Deployed.*Ready, the meter starts/))
  expect(lines.textContent).not.toContain('step 1')
})

test('[B9] a log that cannot be followed is asked for, and says so', async () => {
  await open({
    [followInstanceLogs.operation]: () => new Refusal([], 'too_many_requests', 429),
    [getInstanceLogs.operation]: () => ({ text: 'one\ntwo', cut: false }),
  })
  expect(await screen.findByText('two')).toBeTruthy()
  expect(screen.getByText(/cannot be followed at the moment/)).toBeTruthy()
})

/** What the browser is told to save, and where it is told to go for that. */
function savedFiles() {
  const saved: Blob[] = []
  const links: { href: string; name: string }[] = []
  // jsdom has no such addresses.
  Object.assign(URL, {
    createObjectURL: (blob: Blob) => `blob:${saved.push(blob)}`,
    revokeObjectURL: () => undefined,
  })
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    links.push({ href: this.getAttribute('href') ?? '', name: this.download })
  })
  onTestFinished(() => {
    Reflect.deleteProperty(URL, 'createObjectURL')
    Reflect.deleteProperty(URL, 'revokeObjectURL')
    click.mockRestore()
  })
  return { saved, links }
}

test('[B9] all that is kept of the output is saved by an address of the gateway, and of the system what is shown', async () => {
  const log = streaming()
  const { saved, links } = savedFiles()
  await open({
    [followInstanceLogs.operation]: log.response,
    [startLogDownload.operation]: () => ({
      path: '/gateway/log-download/abc',
      name: 'llama-output.log',
      expires_at: '2026-11-20T12:01:00.000Z',
    }),
    [listInstanceEvents.operation]: () => [
      { id: '1', at: '2026-11-20T12:00:00.000Z', status: 'creating', code: 'deployed', detail: '' },
    ],
  })
  log.say({ lines: ['one', 'two'], open: 'three' })
  expect(await screen.findByText('three')).toBeTruthy()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Download the whole log' })))
  await waitFor(() =>
    expect(links).toEqual([{ href: '/gateway/log-download/abc', name: 'llama-output.log' }]),
  )
  expect(saved).toEqual([])
  await act(async () => fireEvent.click(screen.getByLabelText('System')))
  const lines = await screen.findByRole('region', { name: 'Lines of the log' })
  await waitFor(() => expect(lines.textContent).toContain('Deployed'))
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Download what is shown here' })))
  expect(await saved[0]?.text()).toMatch(/Deployed\n$/)
})

test('[B9] all that is kept is searched, also what is no longer here, and lines are shown with those around them', async () => {
  const log = streaming()
  const found = streaming()
  const { sent } = await open({
    [followInstanceLogs.operation]: log.response,
    [searchInstanceLogs.operation]: found.response,
  })
  log.say({ lines: ['step 9000'] })
  expect(await screen.findByText('step 9000')).toBeTruthy()
  await act(async () =>
    fireEvent.change(screen.getByLabelText('Find in the log'), { target: { value: 'step 1 ' } }),
  )
  const button = await screen.findByRole('button', { name: 'Search all that is kept' })
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sent.map(({ path }) => path).join()).toContain('/logs/search?text=step+1'))
  found.say({ matches: [], found: 0, lines: 4_000, bytes: 100 })
  expect(await screen.findByText('Searching: 4,000 lines so far.')).toBeTruthy()
  const match = { line: 12, text: 'Step 1 of 9', before: ['begun', '<b>'], after: ['step 2'] }
  found.say({ matches: [match], found: 300, lines: 9_000, bytes: 200, ended: 'whole' })
  const lines = await screen.findByRole('region', { name: 'Lines that have it' })
  await waitFor(() => expect(lines.textContent).toBe('10begun11<b>12Step 1 of 913step 2'))
  expect(screen.getByText('Step 1').tagName).toBe('MARK')
  expect(screen.getByText('300 lines of 9,000 have it. The last 1 are shown.')).toBeTruthy()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Back to the log' })))
  expect(screen.queryByRole('region', { name: 'Lines that have it' })).toBeNull()
})

test('[B9] a search that was not whole says so, and one that is refused says why', async () => {
  const found = streaming()
  let isRefused = false
  await open({
    [followInstanceLogs.operation]: streaming().response,
    [searchInstanceLogs.operation]: () =>
      isRefused ? new Refusal([], 'too_many_requests', 429) : found.response(),
  })
  const type = (value: string) =>
    act(async () => fireEvent.change(screen.getByLabelText('Find in the log'), { target: { value } }))
  const search = async () => {
    const button = await screen.findByRole('button', { name: 'Search all that is kept' })
    await act(async () => fireEvent.click(button))
  }
  await screen.findByLabelText('Find in the log')
  await type('x')
  await search()
  found.say({ matches: [], found: 0, lines: 1, bytes: 1, ended: 'time' })
  expect(await screen.findByText(/It took too long/)).toBeTruthy()
  isRefused = true
  await type('y')
  await search()
  expect(await screen.findByText(/The search broke off/)).toBeTruthy()
  expect(await screen.findByRole('alert')).toBeTruthy()
})
