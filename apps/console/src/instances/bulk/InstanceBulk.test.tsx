import { INSTANCE_STATUSES, instanceCan } from '@berth/contract/instance-states'
import { previewBilling, renewInstance, toggleRenewal } from '@berth/contract/instance-terms'
import { type Instance, stopInstance, terminateInstance } from '@berth/contract/instances'
import { act, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal, type Sent } from '../../gateway-fixture.tsx'
import { List } from '../../lists/List.tsx'
import { useSelection } from '../../lists/use-selection.ts'
import { startToasts } from '../../ui/toast.ts'
import { instanceRuns } from '../bulk-send.ts'
import { madeInstance } from '../instance-fixture.ts'
import { bulkPlan } from './bulk-plan.ts'
import { InstanceBulk } from './InstanceBulk.tsx'

const COLUMNS = [
  { key: 'name', header: 'Name', narrow: 'name' as const, cell: ({ name }: Instance) => name },
] as const
const keyOf = ({ instance_id }: Instance) => instance_id
const nameOf = ({ name }: Instance) => name
const LABELS = {
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart',
  terminate: 'Terminate',
  renew: 'Renew now',
  renewal_on: 'Turn renewal on',
  renewal_off: 'Cancel renewal',
} as const
/** What goes with instances on demand. */
const ALWAYS = ['start', 'stop', 'restart', 'terminate'] as const

/** Six machines, of which four run. */
const SIX = ['running', 'running', 'stopped', 'running', 'error', 'running'].map((status, at) =>
  madeInstance({
    instance_id: `i-00000${at}`,
    name: `machine-${at}`,
    status: status as 'running',
    stopped_micro_per_day: '100000',
    disks: {
      ...{ container_gb: 20, system_gb: 0, free_gb: 20, data_gb: 0, data_path: null },
      ...{ pod_volume_gb: 0, pod_volume_path: null, network_volume: null },
    },
  }),
)

beforeEach(() => instanceRuns.forget())

async function show(rows: readonly Instance[] = SIX, isShown: (row: Instance) => boolean = () => true) {
  let leave = () => {}
  let filter = (_: (row: Instance) => boolean) => {}
  function Rows({ isIn }: { isIn: (row: Instance) => boolean }) {
    const shown = rows.filter(isIn)
    const selection = useSelection({ rows, shown, keyOf, nameOf })
    return (
      <>
        <InstanceBulk selection={selection} />
        <List
          label="Machines"
          query={{ error: null, refetch: () => undefined, dataUpdatedAt: 0 }}
          rows={shown}
          keyOf={keyOf}
          columns={COLUMNS}
          selection={selection}
          none={{ title: 'None' }}
        />
      </>
    )
  }
  await renderInPage(
    () => {
      const [isLeft, setLeft] = useState(false)
      const [isIn, setIn] = useState(() => isShown)
      leave = () => setLeft(true)
      filter = wanted => setIn(() => wanted)
      return <InShell>{isLeft ? 'Another page' : <Rows isIn={isIn} />}</InShell>
    },
    { namespaces: ['bulk', 'instances', 'events', 'terms-of-payment'] },
  )
  return {
    leave: () => act(leave),
    filter: (wanted: (row: Instance) => boolean) => act(() => filter(wanted)),
  }
}

const box = (at: number) => screen.getByRole<HTMLInputElement>('checkbox', { name: `Select machine-${at}` })
const allBox = () => screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select all that are shown' })
const picked = () =>
  SIX.flatMap((_, at) =>
    screen.queryByRole('checkbox', { name: `Select machine-${at}` }) && box(at).checked ? [at] : [],
  )
const button = (action: keyof typeof LABELS) =>
  screen.getByRole('button', { name: new RegExp(`^${LABELS[action]}: `) })
const dialog = () => screen.findByRole('dialog')

describe('[R2.26] rows of a list are selected', () => {
  test('by the space key, with Shift through, along the arrows, and Escape selects none', async () => {
    await answerCalls()
    await show()
    const user = userEvent.setup()
    expect(screen.queryByRole('region', { name: 'Actions for the selected rows' })).toBeNull()
    box(1).focus()
    await user.keyboard(' ')
    expect(picked()).toEqual([1])
    expect(screen.getByRole('status').textContent).toBe('1 selected')
    await user.keyboard('{ArrowDown}{ArrowDown}')
    expect(document.activeElement).toBe(box(3))
    await user.keyboard('{Shift>} {/Shift}')
    expect(picked()).toEqual([1, 2, 3])
    await user.keyboard('{Shift>}{ArrowDown}{/Shift}')
    expect(picked()).toEqual([1, 2, 3, 4])
    await user.keyboard('{ArrowUp} ')
    expect(picked()).toEqual([1, 2, 4])
    await user.keyboard('{Escape}')
    expect(picked()).toEqual([])
  })

  test('by pointer with Shift through rows in the order of the list, upwards too', async () => {
    await answerCalls()
    await show()
    const user = userEvent.setup()
    await user.click(box(4))
    await user.keyboard('{Shift>}')
    await user.click(box(2))
    await user.keyboard('{/Shift}')
    expect(picked()).toEqual([2, 3, 4])
  })

  test('all at once: those that match the filter, and no others; what a filter hides stays selected and is said', async () => {
    await answerCalls()
    const { filter } = await show(SIX, ({ status }) => status === 'running')
    await userEvent.click(allBox())
    expect(screen.getByRole('status').textContent).toBe('4 selected')
    await filter(() => true)
    expect(picked()).toEqual([0, 1, 3, 5])
    expect(allBox().indeterminate).toBe(true)
    await filter(({ status }) => status === 'stopped')
    expect(screen.getByRole('status').textContent).toContain('4 of them are hidden by the filter')
    await userEvent.click(screen.getByRole('button', { name: 'Clear the selection' }))
    expect(screen.queryByRole('status')).toBeNull()
  })
})

describe('[R4.5] what can be done to a selection', () => {
  test('[R4.4] is what the one table of states allows at least one of them, with how many', async () => {
    const all = INSTANCE_STATUSES.map((status, at) =>
      madeInstance({ status, name: status, instance_id: `i-00000${String.fromCharCode(97 + at)}` }),
    )
    await answerCalls()
    await show(all)
    await userEvent.click(allBox())
    for (const action of ALWAYS) {
      const able = all.filter(one => instanceCan(action, one))
      expect(bulkPlan(action, all).able).toEqual(able)
      expect(button(action).getAttribute('aria-label')).toBe(
        `${LABELS[action]}: ${able.length} of ${all.length} selected`,
      )
      expect(button(action).getAttribute('aria-disabled')).toBeNull()
    }
  })

  test('is off with a reason where it goes with none of them', async () => {
    await answerCalls()
    await show()
    await userEvent.click(box(2))
    expect(button('stop').getAttribute('aria-disabled')).toBe('true')
    expect(button('start').getAttribute('aria-disabled')).toBeNull()
    await userEvent.hover(button('restart'))
    expect((await screen.findByRole('tooltip')).textContent).toBe('Only while the instance is running')
  })

  test('[R4.2] is off without a verified address', async () => {
    await answerCalls({}, { user: customer({ emailVerified: false }) })
    await show()
    await userEvent.click(box(0))
    for (const action of ALWAYS) expect(button(action).getAttribute('aria-disabled')).toBe('true')
  })

  test('[R2.24] is asked about by name, with what it costs and who is left out, and why', async () => {
    await answerCalls()
    await show()
    await userEvent.click(allBox())
    await userEvent.click(button('stop'))
    const asked = await dialog()
    expect(asked.textContent).toContain('Stop 4 instances?')
    expect(asked.textContent).toContain('$0.4000 /day together')
    expect(
      within(within(asked).getByRole('region', { name: '4 instances' })).getAllByRole('listitem'),
    ).toHaveLength(4)
    const out = within(asked).getByRole('region', { name: /2 selected instances are left out/ })
    expect(out.textContent).toContain('machine-2Only while the instance is running')
  })

  test('[R2.24] many are terminated by those alone who type how many', async () => {
    const { sent } = await answerCalls()
    await show()
    await userEvent.click(allBox())
    await userEvent.click(button('terminate'))
    const asked = await dialog()
    expect(asked.textContent).toContain('120 GB in all, is lost')
    const confirm = within(asked).getByRole<HTMLButtonElement>('button', { name: 'Terminate 6' })
    expect(confirm.disabled).toBe(true)
    await userEvent.type(
      within(asked).getByRole('textbox', { name: 'Type 6 to terminate 6 instances' }),
      '5{Enter}',
    )
    expect(confirm.disabled).toBe(true)
    expect(sent.filter(({ operation }) => operation === terminateInstance.operation)).toEqual([])
    await userEvent.clear(within(asked).getByRole('textbox'))
    await userEvent.type(within(asked).getByRole('textbox'), '6')
    await userEvent.click(confirm)
    await screen.findByText('Done for all 6 instances.')
    const paths = sent.flatMap(({ operation, path }) =>
      operation === terminateInstance.operation ? [path] : [],
    )
    expect(paths.toSorted()).toEqual(SIX.map(({ instance_id }) => `/gateway/api/instance/${instance_id}`))
  })
})

/** What is paid for in advance in several ways: two that are renewed, one that is released, one whose term has not begun, one on demand. */
const TERMS = (
  [
    ['running', true, '2026-12-01T00:00:00.000Z'],
    ['stopped', true, '2026-12-02T00:00:00.000Z'],
    ['running', false, '2026-12-03T00:00:00.000Z'],
    ['creating', true, null],
    ['running', null, null],
  ] as const
).map(([status, auto_renew, expiry_time], at) =>
  madeInstance({
    instance_id: `i-00000${at}`,
    name: `machine-${at}`,
    status,
    expiry_time,
    auto_renew: auto_renew ?? false,
    ...(auto_renew !== null && {
      billing_type: 'prepay',
      charge_cycle: 'weekly',
      term_micro: '40000000',
    }),
  }),
)

/** What the next term of each would cost: 50, 51 and 52 dollars. */
const previewOf = ({ path }: Sent) => {
  const at = Number(/i-00000(\d)/.exec(path)?.[1])
  return {
    currency: 'USD',
    billing_type: 'prepay',
    charge_cycle: 'weekly',
    price_micro: String((50 + at) * 1_000_000),
    cost_micro: String((50 + at) * 1_000_000),
    back_micro: '0',
    reserve_micro: '0',
    expiry_time: '2026-12-08T00:00:00.000Z',
    refused: null,
  }
}
const renewed = () => ({ instance_id: 'i-000000', status: 'running' })

describe('[R4.3] [R2.24] the terms of a selection', () => {
  test('[R4.5] are there where one is paid for in advance, with to how many each applies and why to no others', async () => {
    await answerCalls()
    await show(TERMS)
    await userEvent.click(box(4))
    expect(screen.queryByRole('button', { name: /^Renew now: / })).toBeNull()
    await userEvent.click(allBox())
    for (const [action, able] of [
      ['renew', [0, 1, 2]],
      ['renewal_on', [2]],
      ['renewal_off', [0, 1, 3]],
    ] as const) {
      expect(button(action).getAttribute('aria-label')).toContain(`: ${able.length} of 5 selected`)
      expect(bulkPlan(action, TERMS).able).toEqual(able.map(at => TERMS[at]))
    }
    await userEvent.click(button('renewal_on'))
    const out = within(await dialog()).getByRole('region', { name: /4 selected instances are left out/ })
    expect(out.textContent).toContain('machine-0It is renewed already')
    expect(out.textContent).toContain('machine-4This instance is paid for by the hour')
  })

  test('[B3] are bought at the prices that stood there, with what all cost, and a key for each', async () => {
    const { sent } = await answerCalls({
      [previewBilling.operation]: previewOf,
      [renewInstance.operation]: renewed,
    })
    await show(TERMS)
    await userEvent.click(allBox())
    await userEvent.click(button('renew'))
    const asked = await dialog()
    await within(asked).findByText(/^\$153\.00 in all is taken from your balance/)
    expect(within(asked).getByRole('region', { name: '3 instances' }).textContent).toMatch(
      /machine-0\$50\.00.*machine-1\$51\.00.*machine-2\$52\.00/,
    )
    expect(sent.some(({ operation }) => operation === renewInstance.operation)).toBe(false)
    await userEvent.click(within(asked).getByRole('button', { name: 'Renew now 3' }))
    await screen.findByText('Done for all 3 instances.')
    const bought = sent.filter(({ operation }) => operation === renewInstance.operation)
    expect(bought.map(({ body }) => body)).toEqual(
      [0, 1, 2].map(at => ({ instance_id: `i-00000${at}`, price_micro: `${50 + at}000000` })),
    )
    const keys = new Set(bought.map(({ idempotencyKey }) => idempotencyKey))
    expect(keys.size).toBe(3)
    expect(keys.has(null)).toBe(false)
  })

  test('wait for their prices, leave out what would be refused, and are asked about anew where one was', async () => {
    const prices = Promise.withResolvers<void>()
    let isChanged = true
    const { sent } = await answerCalls({
      [previewBilling.operation]: async request => {
        await prices.promise
        const preview = previewOf(request)
        return request.path.includes('i-000001') ? { ...preview, refused: 'term_too_far' } : preview
      },
      [renewInstance.operation]: ({ body }) =>
        isChanged && (body as { instance_id: string }).instance_id === 'i-000002'
          ? new Refusal([], 'price_changed', 409)
          : renewed(),
    })
    await show(TERMS)
    await userEvent.click(allBox())
    await userEvent.click(button('renew'))
    const confirm = within(await dialog()).getByRole<HTMLButtonElement>('button', { name: 'Renew now 3' })
    expect(confirm.disabled).toBe(true)
    await act(async () => prices.resolve())
    await waitFor(() => expect(confirm.textContent).toBe('Renew now 2'))
    const out = within(await dialog()).getByRole('region', { name: /3 selected instances are left out/ })
    expect(out.textContent).toContain('machine-1An instance can be paid for up to 366 days ahead.')
    await userEvent.click(confirm)
    await screen.findByText('It was not done for 1 instance, which stays selected.')
    const came = within(screen.getByRole('region', { name: 'What came of each' })).getAllByRole('listitem')
    expect(came.map(({ textContent }) => textContent)).toEqual([
      'machine-2refused: price_changed',
      'machine-0renewed',
    ])
    isChanged = false
    const asked = sent.filter(({ operation }) => operation === previewBilling.operation).length
    await userEvent.click(screen.getByRole('button', { name: 'Try 1 again' }))
    await screen.findByText(/^\$52\.00 in all/)
    expect(sent.filter(({ operation }) => operation === previewBilling.operation)).toHaveLength(asked + 1)
    await userEvent.click(within(await dialog()).getByRole('button', { name: 'Renew now 1' }))
    await screen.findByText('Done for 1 instance.')
  })

  test('are renewed by themselves or released, as they are asked to be, each by its own call', async () => {
    const { sent } = await answerCalls({ [toggleRenewal.operation]: renewed })
    await show(TERMS)
    await userEvent.click(allBox())
    await userEvent.click(button('renewal_off'))
    const asked = await dialog()
    expect(asked.textContent).toContain('Cancel the renewal of 3 instances?')
    expect(asked.textContent).toContain('it and all that it stored are deleted')
    await userEvent.click(within(asked).getByRole('button', { name: 'Cancel renewal 3' }))
    await screen.findByText('Done for all 3 instances.')
    expect(
      sent.flatMap(({ operation, body }) => (operation === toggleRenewal.operation ? [body] : [])),
    ).toEqual([0, 1, 3].map(at => ({ instance_id: `i-00000${at}`, auto_renew: false })))
  })
})

describe('[R4.5] what came of it', () => {
  test('is said of each; those that failed stay selected and are tried again alone', async () => {
    let isRefused = true
    const { sent } = await answerCalls({
      [stopInstance.operation]: ({ path }) =>
        isRefused && path.includes('i-000003')
          ? new Refusal([], 'instance_changed', 409)
          : { instance_id: 'i-000000', status: 'stopping' },
    })
    await show()
    await userEvent.click(allBox())
    await userEvent.click(button('stop'))
    await userEvent.click(within(await dialog()).getByRole('button', { name: 'Stop 4' }))
    await screen.findByText('It was not done for 1 instance, which stays selected.')
    const [first, ...others] = within(screen.getByRole('region', { name: 'What came of each' })).getAllByRole(
      'listitem',
    )
    expect(first?.textContent).toBe('machine-3refused: instance_changed')
    expect(others.map(({ textContent }) => textContent)).toEqual([
      'machine-0stopping',
      'machine-1stopping',
      'machine-5stopping',
    ])
    // The rows are behind the dialog.
    const boxes = [...document.querySelectorAll<HTMLInputElement>('[data-pick-box]')]
    expect(boxes.filter(({ checked }) => checked).map(({ value }) => value)).toEqual(['i-000003'])
    isRefused = false
    await userEvent.click(screen.getByRole('button', { name: 'Try 1 again' }))
    await screen.findByText('Done for 1 instance.')
    const stopped = sent.filter(({ operation }) => operation === stopInstance.operation)
    expect(stopped.slice(4).map(({ path }) => path)).toEqual(['/gateway/api/instance/i-000003/stop'])
    await userEvent.click(
      within(await dialog())
        .getAllByRole('button', { name: 'Close' })
        .at(-1) as HTMLElement,
    )
    await waitFor(() => expect(picked()).toEqual([]))
  })

  test('is told wherever its customer is when it ends, and is found on coming back', async () => {
    const held = Promise.withResolvers<void>()
    const toasts: string[] = []
    startToasts(({ message }) => toasts.push(message))
    onTestFinished(() => startToasts(() => undefined))
    await answerCalls({
      [stopInstance.operation]: () => held.promise.then(() => new Refusal([], 'instance_changed', 409)),
    })
    const { leave } = await show()
    await userEvent.click(box(0))
    await userEvent.click(button('stop'))
    await userEvent.click(within(await dialog()).getByRole('button', { name: 'Stop 1' }))
    await leave()
    await act(async () => held.resolve())
    await waitFor(() => expect(toasts).toEqual(['It was not done for 1 instance, which stays selected.']))
    expect(instanceRuns.get()).toMatchObject({ isOver: true, failed: 1 })
  })
})
