import { followInstanceLogs, type LogEvent } from '@berth/contract/instance-page'
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
    say: (event: Partial<LogEvent>) =>
      to?.enqueue(
        encoder.encode(
          `:\n\ndata: ${JSON.stringify({ lines: [], open: '', skipped: 0, ended: null, ...event })}\n\n`,
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

test('[B9] what is shown is saved as a plain file', async () => {
  const log = streaming()
  await open({ [followInstanceLogs.operation]: log.response })
  log.say({ lines: ['one', 'two'], open: 'three' })
  expect(await screen.findByText('three')).toBeTruthy()
  const saved: Blob[] = []
  // jsdom has no such addresses.
  Object.assign(URL, {
    createObjectURL: (blob: Blob) => `blob:${saved.push(blob)}`,
    revokeObjectURL: () => undefined,
  })
  onTestFinished(() => {
    Reflect.deleteProperty(URL, 'createObjectURL')
    Reflect.deleteProperty(URL, 'revokeObjectURL')
  })
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => undefined)
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Download what is shown here' })))
  expect(await saved[0]?.text()).toBe('one\ntwo\nthree\n')
  click.mockRestore()
})
