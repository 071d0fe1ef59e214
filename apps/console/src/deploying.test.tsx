import { listInstances } from '@berth/contract/instances'
import { screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test } from 'vitest'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, InShell } from './gateway-fixture.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { DeployProgress } from './pages/explore/DeployProgress.tsx'
import { startToasts } from './ui/toast.ts'

const progress = { step: 'booting', percent: 75, bytes_done: null, bytes_total: null } as const

test.each([
  ['running', 'llama is ready.'],
  ['error', 'llama could not be started.'],
] as const)('[R2.26] a deploy says its percent until it is %s, then comes the list', async (end, says) => {
  const toasts: string[] = []
  startToasts(({ message }) => toasts.push(message))
  onTestFinished(() => startToasts(() => undefined))
  let machine = madeInstance({ status: 'creating', progress })
  await answerCalls({ [listInstances.operation]: () => [machine] })
  const page = await renderInPage(
    () => (
      <InShell>
        <DeployProgress id="i-000000" name="llama" />
      </InShell>
    ),
    { namespaces: ['explore', 'events'] },
  )
  expect(await screen.findByText('75 %')).toBeTruthy()
  expect(screen.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('75')
  expect(page.path()).toBe('/page')
  machine = madeInstance({ status: end })
  await waitFor(() => expect(page.path()).toBe('/instance-list'))
  expect(toasts).toEqual([says])
})
