import { getSettings } from '@berth/contract/account'
import { getBalance } from '@berth/contract/billing'
import { type Connection, connection } from '@berth/contract/instances'
import {
  bindPublicIp,
  getPublicIpPrice,
  type PublicIpPrice,
  unbindPublicIp,
} from '@berth/contract/public-ip-calls'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import type { FunctionComponent } from 'react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell, Refusal } from '../gateway-fixture.tsx'
import { sampleOf } from '../schema-fixture.ts'
import { madeInstance } from './instance-fixture.ts'
import { BindPublicIpDialog, UnbindPublicIpDialog } from './PublicIpDialogs.tsx'
import { Ways } from './Ways.tsx'

const ID = '01890000-0000-7000-8000-000000000001'
const SHARED = {
  id: null,
  type: 'shared',
  address: '203.0.113.2',
  rate_micro_per_hour: '0',
  costs_from: null,
} as const
const DEDICATED = { ...SHARED, id: ID, type: 'dedicated', address: '203.0.113.20' } as const
const PRICE: PublicIpPrice = { currency: 'USD', rate_micro_per_hour: '5000', total: 4, available: 3 }
const BALANCE = sampleOf(getBalance.data) as { account_balance: object }
/** What of a balance is counted, beside what is for models alone. */
const having = (cents: number) => ({
  ...BALANCE,
  account_balance: {
    ...BALANCE.account_balance,
    ...{ amount: cents + 500, amount_available: cents + 500, amount_free: 500, amount_freeze: 0 },
  },
})
const PORTS = { tcp_ports: [22], udp_ports: [53] }

async function open(Dialog: FunctionComponent, answers: Parameters<typeof answerCalls>[0] = {}) {
  const answered = await answerCalls({
    [getPublicIpPrice.operation]: () => PRICE,
    [getBalance.operation]: () => having(1),
    ...answers,
  })
  await renderInPage(
    () => (
      <InShell>
        <Dialog />
      </InShell>
    ),
    { namespaces: ['instances', 'public-ip'] },
  )
  return answered
}

const onClose = vi.fn()
const binding = (part: Parameters<typeof madeInstance>[0] = {}) =>
  function Binding() {
    return (
      <BindPublicIpDialog
        instance={madeInstance({ ...PORTS, eip: SHARED, ...part })}
        opened
        onClose={onClose}
      />
    )
  }

test('[R2.25] binding says the price, from when to when it is paid, which ports answer, and what closes, before it is confirmed', async () => {
  const sent = vi.fn()
  await open(binding(), {
    [bindPublicIp.operation]: ({ body }) => {
      sent(body)
      return DEDICATED
    },
  })
  expect(
    await screen.findByText(/costs \$0\.0050 \/h from now until you unbind it, also while .* stopped/),
  ).toBeTruthy()
  expect(screen.getByText(/22 TCP, 53 UDP/)).toBeTruthy()
  expect(screen.getByText(/Its ports at 203\.0\.113\.2 close/)).toBeTruthy()
  expect(screen.getByText(/The first hour, \$0\.0050?, is reserved.*3 are free/)).toBeTruthy()
  const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Bind public IP' })
  await waitFor(() => expect(button.disabled).toBe(false))
  await act(async () => fireEvent.click(button))
  // What was shown is what is confirmed.
  expect(sent).toHaveBeenCalledWith({ region_code: 'us-west', instance_id: 'i-000000', price_micro: '5000' })
  await waitFor(() => expect(onClose).toHaveBeenCalled())
})

test('[R2.25] binding beside a term says that it is metered besides', async () => {
  await open(binding({ billing_type: 'prepay', charge_cycle: 'weekly' }))
  expect(await screen.findByText(/besides what is paid for in advance/)).toBeTruthy()
})

test.each([
  [
    'no address is free',
    { [getPublicIpPrice.operation]: () => ({ ...PRICE, available: 0 }) },
    /No public IP is free/,
  ],
  [
    'the balance does not cover an hour',
    { [getBalance.operation]: () => having(0) },
    /does not cover its first hour/,
  ],
])('[R2.25] binding is off, with the reason, where %s', async (_, answers, reason) => {
  await open(binding(), answers)
  expect(await screen.findByText(reason)).toBeTruthy()
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Bind public IP' }).disabled).toBe(true)
})

test('[R2.25] a bind that is refused leaves its dialog open', async () => {
  onClose.mockClear()
  await open(binding(), { [bindPublicIp.operation]: () => new Refusal([], 'public_ip_sold_out', 409) })
  const button = await screen.findByRole<HTMLButtonElement>('button', { name: 'Bind public IP' })
  await waitFor(() => expect(button.disabled).toBe(false))
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(button.disabled).toBe(false))
  expect(onClose).not.toHaveBeenCalled()
})

test('[R2.25] unbinding says that the address goes to others, and gives that one back', async () => {
  const { sent } = await open(function Unbinding() {
    return (
      <UnbindPublicIpDialog instance={madeInstance({ ...PORTS, eip: DEDICATED })} opened onClose={onClose} />
    )
  })
  expect(
    await screen.findByText(/203\.0\.113\.20 goes back at once.*other customers may get it/),
  ).toBeTruthy()
  const button = screen.getByRole('button', { name: 'Unbind public IP' })
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(unbindPublicIp.operation))
})

test('[R2.23] [R2.25] a port that is not open at its address says why', async () => {
  const way = (port: number, trouble: Connection['tcp'][number]['trouble']) => ({
    port,
    host: DEDICATED.address,
    public_port: port,
    trouble,
  })
  const ways = {
    ...(sampleOf(connection) as Connection),
    tcp: [way(22, 'not_permitted'), way(8_022, null)],
    udp: [way(53, 'taken'), way(5_353, 'no_gateway')],
  }
  await open(function Connected() {
    return <Ways connection={ways} ownAddress />
  })
  expect(await screen.findByText('203.0.113.20:22')).toBeTruthy()
  expect(screen.getAllByText(/may not use a number this low/)).toHaveLength(1)
  expect(screen.getAllByText(/another program has this port/)).toHaveLength(1)
  expect(screen.getAllByText(/no gateway has this address/)).toHaveLength(1)
})

test('[R2.23] where nobody reaches direct ports, the ways into an instance say so in their place', async () => {
  const ways = { ...(sampleOf(connection) as Connection), tcp: [], udp: [] }
  const settings = { ...(sampleOf(getSettings.data) as object), direct_ports: false }
  const Shown = () => <Ways connection={ways} ownAddress={false} />
  await open(Shown, { [getSettings.operation]: () => settings })
  await waitFor(() =>
    expect(screen.getAllByText('Not offered by this installation. ssh -L reaches every port.')).toHaveLength(
      2,
    ),
  )
  expect(screen.queryByText(/^It has no direct/)).toBeNull()
})
