import { startInstance } from '@berth/contract/instances'
import { getResume, type Resume, setResume } from '@berth/contract/resume'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { type Answers, answerCalls, customer, InShell, Refusal } from '../../../gateway-fixture.tsx'
import { ResumeCard } from './ResumeCard.tsx'

const row = (name: string, part: Partial<Resume['stopped'][number]> = {}) => ({
  instance_id: `i-${name}`,
  name,
  gpu_spec_id: 'cpu',
  gpu_spec_name: 'CPU',
  gpu_count: 1,
  emptied_at: '2026-11-20T18:00:00.000Z',
  resumes: false,
  reserve_cents: 8,
  covered: true,
  ready: true,
  failure: null,
  next_try_at: null,
  ...part,
})
const RESUME: Resume = {
  currency: 'USD',
  by_default: false,
  asked: 0,
  instances: 3,
  available: 20,
  stopped: [
    row('llama'),
    row('notebook', { resumes: true, failure: { code: 'gpu_sold_out', values: {} } }),
    row('big', { covered: false, reserve_cents: 900 }),
  ],
  stopped_count: 3,
}

async function show(answers: Answers = {}, verified = true) {
  const { sent } = await answerCalls(
    { [getResume.operation]: () => RESUME, ...answers },
    { user: customer({ emailVerified: verified }) },
  )
  const Page = () => (
    <InShell>
      <ResumeCard />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['resume'] })
  const of = (operation: string) => sent.filter(one => one.operation === operation)
  return { of }
}

test('[B4] what stopped is listed with what starting takes; what is covered starts, and one refused holds up none', async () => {
  let first = true
  const { of } = await show({
    [startInstance.operation]: () => {
      const answer = first
        ? new Refusal([], 'gpu_sold_out')
        : { instance_id: 'i-notebook', status: 'creating' }
      first = false
      return answer
    },
  })
  expect(await screen.findByText(/\$9\.00 to start · not covered/)).toBeTruthy()
  expect(screen.getByText(/sold out/)).toBeTruthy()
  expect(screen.getByRole('button', { name: 'Start big' }).getAttribute('aria-disabled')).toBe('true')
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Start all that is covered' })))
  await waitFor(() => expect(of(startInstance.operation)).toHaveLength(2))
  expect(of(startInstance.operation).map(({ body }) => body)).toEqual([
    { instance_id: 'i-llama', gpu_spec_id: 'cpu', gpu_count: 1 },
    { instance_id: 'i-notebook', gpu_spec_id: 'cpu', gpu_count: 1 },
  ])
})

test('[B4] one switch asks it of all, and of those to come', async () => {
  const { of } = await show({ [setResume.operation]: () => ({ ...RESUME, by_default: true, asked: 3 }) })
  await act(async () => fireEvent.click(await screen.findByRole('switch')))
  await waitFor(() => expect(of(setResume.operation)).toHaveLength(1))
  expect(of(setResume.operation)[0]?.body).toEqual({ by_default: true, all: true })
})

test('[R4.2] without a verified address nothing is started', async () => {
  await show({}, false)
  expect((await screen.findByRole('button', { name: 'Start llama' })).getAttribute('aria-disabled')).toBe(
    'true',
  )
  expect(screen.getByRole<HTMLInputElement>('switch').disabled).toBe(true)
})
