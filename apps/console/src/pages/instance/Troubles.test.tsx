import { listTransactions } from '@berth/contract/billing'
import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import { getInstance } from '@berth/contract/instance-page'
import { type Instance, type InstanceEvent, listInstanceEvents } from '@berth/contract/instances'
import { act, fireEvent, screen, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { madeInstance } from '../../instances/instance-fixture.ts'
import { sampleOf } from '../../schema-fixture.ts'
import { Page } from './InstancePage.tsx'

const ID = 'i-7q2m9x'
const DISK_MB = 40_960

interface Seen {
  /** What differs from a pod that runs well. */
  part?: Partial<Instance>
  diskUsedMb?: number | null
  events?: readonly InstanceEvent[]
}

/** The page of an instance, of which this is seen. */
async function open({ part, diskUsedMb = null, events = [] }: Seen) {
  await answerCalls({
    [getInstance.operation]: () => madeInstance({ instance_id: ID, name: 'llama', ...part }),
    [listInstanceEvents.operation]: () => events,
    [listTransactions.operation]: () => ({ items: [], total: 0, page: 1, page_size: 4 }),
    [getInstanceMetrics.operation]: () => ({
      ...(sampleOf(getInstanceMetrics.data) as object),
      state: 'sampled',
      disk_size_mb: DISK_MB,
      disk_used_mb: { values: [diskUsedMb], lacks: null },
    }),
  })
  await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['instance', 'instances', 'events'], at: `?id=${ID}` },
  )
}

/** What is said of a trouble, once it is seen to stand between the page's title and all else that it shows. */
async function troubleAtTop(title: RegExp): Promise<HTMLElement> {
  const trouble = (await screen.findByText(title)).closest<HTMLElement>('[role=alert]')
  if (!trouble) throw new Error('It is not said as what must be seen.')
  const isBefore = (one: Node, other: Node) =>
    Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING)
  expect(isBefore(screen.getByRole('heading', { level: 1, name: 'llama' }), trouble)).toBe(true)
  expect(isBefore(trouble, await screen.findByRole('region', { name: 'Use over time' }))).toBe(true)
  for (const heading of screen.getAllByRole('heading', { level: 2 }))
    expect(isBefore(trouble, heading)).toBe(true)
  return trouble
}

const press = (trouble: HTMLElement, name: string) =>
  act(async () => fireEvent.click(within(trouble).getByRole('button', { name })))

test('[B9] a disk that is nearly full says at the top how full it is, and its button leads into the machine', async () => {
  await open({ diskUsedMb: DISK_MB * 0.914 })
  const trouble = await troubleAtTop(/^The disk is 91 % full\.$/)
  expect(trouble.textContent).toContain('3.4 GB are left.')
  await press(trouble, 'Connect')
  expect(await screen.findByRole('dialog', { name: /llama/ })).toBeTruthy()
})

test('[B9] a program that was ended for want of memory is said at the top, and its button leads to the log', async () => {
  const at = new Date().toISOString()
  await open({ events: [{ id: '1', at, status: 'running', code: 'out_of_memory', detail: '2' }] })
  const trouble = await troubleAtTop(/^Memory ran out: the system ended a program \(2× so far\)\.$/)
  expect(trouble.textContent).toContain('start on a larger machine')
  await press(trouble, 'See the log')
  expect(document.activeElement?.id).toBe('part-logs')
})

test.each([
  [127, /^The start command was not found \(code 127\)\.$/, 'The image has no such program'],
  [126, /^The start command cannot be run \(code 126\)\.$/, 'may not be executed'],
  [137, /^The start command was killed \(code 137\)\.$/, 'It was ended by force'],
  [3, /^The start command ended with code 3\.$/, 'What it wrote last says why'],
])(
  '[B9] a start command that ended with code %i is said at the top, and its button leads to the log',
  async (exit_code, title, hint) => {
    const ended_at = '2026-11-20T12:00:00.000Z'
    await open({ part: { command_end: { exit_code, ended_at, count: 1, again_at: null } } })
    const trouble = await troubleAtTop(title)
    expect(trouble.textContent).toContain(hint)
    await press(trouble, 'See the log')
    expect(document.activeElement?.id).toBe('part-logs')
  },
)

test('[B9] nothing stands at the top of the page of an instance that does well', async () => {
  await open({ diskUsedMb: DISK_MB / 2 })
  // The figures that say so have come.
  expect(await screen.findByText('20.0 GB')).toBeTruthy()
  expect(screen.queryByRole('alert')).toBeNull()
})

test.each([
  [
    'node_draining',
    /^The computer it runs on is being taken out of service\.$/,
    'A restart moves it',
    'Restart',
  ],
  ['node_draining_fixed', /taken out of service, and it cannot be moved\.$/, 'Save elsewhere', 'Connect'],
] as const)(
  '[R9.5] an instance whose computer is taken out of service says so at the top (%s), with what helps',
  async (code, title, hint, way) => {
    await open({ part: { reason: { code, detail: '' } } })
    const trouble = await troubleAtTop(title)
    expect(trouble.textContent).toContain(hint)
    expect(within(trouble).getByRole('button', { name: way })).toBeTruthy()
  },
)
