import { getBalance } from '@berth/contract/billing'
import type { Call } from '@berth/contract/call'
import { followInstances, type InstancesEvent } from '@berth/contract/instance-follow'
import { getInstance } from '@berth/contract/instance-page'
import { pageInstances } from '@berth/contract/instance-paging'
import { type Instance, stopInstance } from '@berth/contract/instances'
import { act, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell, Refusal, type Sent } from '../../gateway-fixture.tsx'
import { DeployProgress } from '../../pages/explore/DeployProgress.tsx'
import { Page as InstanceListPage } from '../../pages/instance-list/InstanceListPage.tsx'
import { streamOf } from '../../stream-fixture.ts'
import { startToasts } from '../../ui/toast.ts'
import { madeInstance } from '../instance-fixture.ts'

// Goal: pages show what is told as it is told, ask for little meanwhile, and go on asking by themselves where nothing is
// told. Method: the pages themselves, over answers of the test; a stream that the test holds open.

const FIRST: InstancesEvent = { instances: [], gone: [], reread: true, ended: null }
const told = (instance: Instance): InstancesEvent => ({ ...FIRST, reread: false, instances: [instance] })

/** What a call for the list answers where it holds that one. */
const pageOf = (one: Instance) => ({ items: [one], next_cursor: null, total: 1 })

/** Polls by the test's time; all else goes on by its own. */
function holdPolls(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

let leave: () => void = () => undefined

async function openList(answers: Parameters<typeof answerCalls>[0]) {
  const calls = await answerCalls(answers)
  function Left() {
    const [isThere, setThere] = useState(true)
    leave = () => setThere(false)
    return <InShell>{isThere && <InstanceListPage />}</InShell>
  }
  await renderInPage(Left, { namespaces: ['instances', 'bulk', 'terms-of-payment'] })
  const sent = ({ operation }: Call) => calls.sent.filter(one => one.operation === operation).length
  return { sent, asked: () => sent(pageInstances) }
}

test('[B6] [R2.26] the list changes as its instances do, and is not asked for again while it is told', async () => {
  holdPolls()
  const stream = streamOf<InstancesEvent>()
  const machine = madeInstance({ status: 'creating', name: 'llama' })
  const { asked } = await openList({
    [pageInstances.operation]: () => pageOf(machine),
    [followInstances.operation]: ({ signal }: Sent) => stream.answer(signal),
  })
  expect(await screen.findByText('llama')).toBeTruthy()
  const before = asked()
  await act(async () => stream.say(FIRST))
  // It was read before it was followed: so it is read again, once.
  await vi.waitUntil(() => asked() === before + 1)
  await act(async () => stream.say(told({ ...machine, name: 'renamed', status: 'running' })))
  expect(await screen.findByText('renamed')).toBeTruthy()
  await act(async () => stream.say(told({ ...machine, name: 'again' })))
  expect(await screen.findByText('again')).toBeTruthy()
  // What is changing would be asked for each second.
  await act(() => vi.advanceTimersByTimeAsync(25_000))
  expect(asked()).toBe(before + 1)
  await act(() => vi.advanceTimersByTimeAsync(10_000))
  expect(asked()).toBe(before + 2)
  await act(async () => stream.say({ ...FIRST, reread: false, gone: [machine.instance_id] }))
  await vi.waitUntil(() => screen.queryByText('llama') === null)
})

test('[B6] when the stream breaks, or cannot be had, the list is asked for as before', async () => {
  const stream = streamOf<InstancesEvent>()
  const machine = madeInstance({ status: 'creating', name: 'llama' })
  let answer = (sent: Sent): unknown => stream.answer(sent.signal)
  const { asked } = await openList({
    [pageInstances.operation]: () => pageOf(machine),
    [followInstances.operation]: sent => answer(sent),
  })
  await screen.findByText('llama')
  await act(async () => stream.say(FIRST))
  await waitFor(() => expect(asked()).toBeGreaterThanOrEqual(2))
  answer = () => new Refusal([], 'too_many_requests', 429)
  await act(async () => stream.end())
  const before = asked()
  await waitFor(() => expect(asked()).toBeGreaterThanOrEqual(before + 2))
  expect(screen.getByText('llama')).toBeTruthy()
})

describe('[B6] what is done to one instance of many', () => {
  async function stopIt() {
    await userEvent.click(await screen.findByRole('button', { name: 'All actions of llama' }))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Stop' }))
    const dialog = await screen.findByRole('dialog')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Stop' }))
    // It closes when the answers of what is read again are there.
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  }
  const machine = madeInstance({ status: 'running', name: 'llama' })
  const stopping = () => ({ instance_id: machine.instance_id, status: 'stopping' })

  test('has the list read no more while it is told: the stream brings what changed', async () => {
    const stream = streamOf<InstancesEvent>()
    const { asked, sent } = await openList({
      [pageInstances.operation]: () => pageOf(machine),
      [followInstances.operation]: ({ signal }: Sent) => stream.answer(signal),
      [stopInstance.operation]: stopping,
    })
    await screen.findByText('llama')
    const first = asked()
    await act(async () => stream.say(FIRST))
    await vi.waitUntil(() => asked() === first + 1)
    const balances = sent(getBalance)
    await stopIt()
    expect(sent(stopInstance)).toBe(1)
    // What else it made old was read again.
    expect(sent(getBalance)).toBeGreaterThan(balances)
    expect(asked()).toBe(first + 1)
    await act(async () => stream.say(told({ ...machine, status: 'stopping' })))
    expect(await screen.findByText('Stopping')).toBeTruthy()
    expect(asked()).toBe(first + 1)
  })

  test('has the list read again where nothing tells of it', async () => {
    const { asked, sent } = await openList({
      [pageInstances.operation]: () => pageOf(machine),
      [followInstances.operation]: () => new Refusal([], 'too_many_requests', 429),
      [stopInstance.operation]: stopping,
    })
    await screen.findByText('llama')
    const before = asked()
    await stopIt()
    expect(sent(stopInstance)).toBe(1)
    expect(asked()).toBeGreaterThan(before)
  })
})

test('[R4.11] a page that is left gives its stream up', async () => {
  const stream = streamOf<InstancesEvent>()
  await openList({
    [pageInstances.operation]: () => pageOf(madeInstance({ name: 'llama' })),
    [followInstances.operation]: ({ signal }) => stream.answer(signal),
  })
  await screen.findByText('llama')
  await waitFor(() => expect(stream.isOpen()).toBe(true))
  await act(async () => leave())
  await waitFor(() => expect(stream.isOpen()).toBe(false))
})

test('[R9.2] a tab that is hidden gives its stream up, and takes one when it is seen again', async () => {
  const stream = streamOf<InstancesEvent>()
  await openList({
    [pageInstances.operation]: () => pageOf(madeInstance({ name: 'llama' })),
    [followInstances.operation]: ({ signal }) => stream.answer(signal),
  })
  await waitFor(() => expect(stream.isOpen()).toBe(true))
  const show = (state: 'hidden' | 'visible') => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }
  onTestFinished(() => void Reflect.deleteProperty(document, 'visibilityState'))
  await act(async () => show('hidden'))
  await waitFor(() => expect(stream.isOpen()).toBe(false))
  await act(async () => show('visible'))
  await waitFor(() => expect(stream.isOpen()).toBe(true))
})

test('[R2.26] a deploy that is told to be ready says so, and leads to the list', async () => {
  const toasts: string[] = []
  const stream = streamOf<InstancesEvent>()
  const machine = madeInstance({ status: 'creating', name: 'llama' })
  // While the list is on its way more is told.
  startToasts(({ message }) => {
    toasts.push(message)
    stream.say(told({ ...machine, status: 'running', name: `renamed ${toasts.length}` }))
  })
  onTestFinished(() => startToasts(() => undefined))
  await answerCalls({
    [getInstance.operation]: () => machine,
    [followInstances.operation]: ({ signal }) => stream.answer(signal),
  })
  const page = await renderInPage(
    () => (
      <InShell>
        <DeployProgress id={machine.instance_id} name="llama" />
      </InShell>
    ),
    { namespaces: ['explore', 'events'] },
  )
  await screen.findByText('0 %')
  await act(async () => {
    stream.say(FIRST)
    const progress = { step: 'pulling', percent: 42, bytes_done: 1, bytes_total: 2 } as const
    stream.say(told({ ...machine, status: 'pulling', progress }))
  })
  expect(await screen.findByText('42 %')).toBeTruthy()
  await act(async () => stream.say(told({ ...machine, status: 'running' })))
  await waitFor(() => expect(page.path()).toBe('/instance-list'))
  expect(toasts).toEqual(['llama is ready.'])
})
