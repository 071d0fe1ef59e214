import { getInstanceLogs, listInstanceEvents } from '@berth/contract/instances'
import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { EventsDialog } from './EventsDialog.tsx'
import { madeInstance } from './instance-fixture.ts'
import { LogsDialog } from './LogsDialog.tsx'

const instance = madeInstance({ name: 'llama', start_command: 'serve --all', on_command_end: 'restart' })

async function open(
  Dialog: typeof LogsDialog,
  answers: Parameters<typeof answerCalls>[0],
  shown = instance,
): Promise<void> {
  await answerCalls(answers)
  await renderInPage(
    () => (
      <InShell>
        <Dialog instance={shown} opened onClose={() => undefined} />
      </InShell>
    ),
    { namespaces: ['instances', 'events'] },
  )
}

test('[B9] the log opens beside the list', async () => {
  await open(LogsDialog, {
    [getInstanceLogs.operation]: () => ({ text: 'berth: starting serve', cut: false }),
  })
  expect(await screen.findByText('berth: starting serve')).toBeTruthy()
})

test('[B9] a machine that has written nothing says so', async () => {
  await open(LogsDialog, { [getInstanceLogs.operation]: () => ({ text: '', cut: false }) })
  expect(await screen.findByText('Nothing has been written yet.')).toBeTruthy()
})

test('an event says with which code the start command ended, and the command stands beside it', async () => {
  const event = { at: '2026-11-20T18:09:00.000Z', status: 'running', code: 'command_ended' } as const
  await open(EventsDialog, {
    [listInstanceEvents.operation]: () => [
      { ...event, id: '3', detail: 'exit code 3, 12 times' },
      { ...event, id: '2', detail: 'exit code 127' },
      { ...event, id: '1', code: 'renamed', detail: 'exit code 3rd' },
    ],
  })
  expect(await screen.findAllByText('Start command ended')).toHaveLength(2)
  expect(screen.getByText('Exit code 3 (12 times so far)')).toBeTruthy()
  expect(screen.getByText('Exit code 127: there is no such program')).toBeTruthy()
  expect(screen.getByText('exit code 3rd')).toBeTruthy()
  expect(screen.getByText('serve --all')).toBeTruthy()
  expect(screen.getByText('When it ends, it is started again.')).toBeTruthy()
})

test('what an engine said in English stands apart from why something failed and what its machine lacks', async () => {
  const said = 'docker: manifest unknown'
  const event = { at: '2026-11-20T18:09:00.000Z', status: 'error', code: 'failed' } as const
  const notes = [
    { code: 'walls_container' as const, values: {}, detail: 'A Docker container.' },
    { code: 'small_host' as const, values: { cpu_count: 4, memory_gb: 8 }, detail: '' },
  ]
  const failed = madeInstance({
    status: 'error',
    reason: { code: 'image_not_found', detail: said },
    machine: { driver: 'docker', notes },
  })
  await open(
    EventsDialog,
    {
      [listInstanceEvents.operation]: () => [
        { ...event, id: '2', detail: `image_not_found: ${said}` },
        { ...event, id: '1', detail: 'of_a_later_version: said' },
      ],
    },
    failed,
  )
  expect(await screen.findByText('The image registry has no such image')).toBeTruthy()
  expect(screen.getByText('of_a_later_version: said')).toBeTruthy()
  expect(screen.getByText(/^It is a container that shares/)).toBeTruthy()
  expect(screen.getByText(/has 4 CPUs and 8 GB of memory/)).toBeTruthy()
  const technical = [...document.querySelectorAll('details')]
  expect(technical.map(({ open }) => open)).toEqual([false, false, false])
  expect(technical.map(one => one.querySelector('[lang=en]')?.textContent)).toEqual([
    said,
    said,
    'A Docker container.',
  ])
})
