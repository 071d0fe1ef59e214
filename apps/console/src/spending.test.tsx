import { getBalance, topup } from '@berth/contract/billing'
import { calls } from '@berth/contract/calls'
import { makeImages, makeVideo, retryCreation } from '@berth/contract/creations'
import { applyCoupon } from '@berth/contract/credits'
import { getImage, officialImages } from '@berth/contract/images'
import {
  convertChargeType,
  previewBilling,
  renewInstance,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import { deployInstance, startInstance } from '@berth/contract/instances'
import { createImage } from '@berth/contract/own-images'
import { beginPayment } from '@berth/contract/payment-methods'
import { bindPublicIp, getPublicIpPrice } from '@berth/contract/public-ip-calls'
import { allRegions, type GpuSpec, gpuSpec, listGpuSpecs } from '@berth/contract/regions'
import { listSnapshots, restoreSnapshot, takeSnapshot } from '@berth/contract/volume-snapshots'
import { createVolume, getVolumePrice, growVolume } from '@berth/contract/volumes'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { type FunctionComponent, useState } from 'react'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onUnseen } from './api/cache-lifecycle.ts'
import { abortForNavigation } from './api/client.ts'
import type { Namespace } from './app/i18n.ts'
import { renderInPage } from './component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from './gateway-fixture.tsx'
import { ImageSheet } from './images/ImageSheet.tsx'
import { madeDetail, madeOwnImage } from './images/image-fixture.ts'
import { BillingDialog } from './instances/BillingDialog.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { BindPublicIpDialog } from './instances/PublicIpDialogs.tsx'
import { StartDialog } from './instances/StartDialog.tsx'
import { RenewDialog } from './instances/TermDialogs.tsx'
import { offersOf } from './offers/offers.ts'
import { DeployForm } from './pages/explore/DeployForm.tsx'
import { CreateVolumeDialog } from './pages/network-volume/CreateVolumeDialog.tsx'
import { GrowVolumeDialog } from './pages/network-volume/GrowVolumeDialog.tsx'
import { RestoreSnapshotDialog } from './pages/network-volume/RestoreSnapshotDialog.tsx'
import { SnapshotsDialog } from './pages/network-volume/SnapshotsDialog.tsx'
import { madeSnapshot, madeSnapshots, madeVolume } from './pages/network-volume/volume-fixture.ts'
import { madeBalance } from './pages/payments/balance-fixture.ts'
import { TopupForm } from './pages/payments/TopupForm.tsx'
import { sampleOf } from './schema-fixture.ts'
import { startToasts } from './ui/toast.ts'

interface Purchase {
  operation: string
  Page: FunctionComponent<{ onDone: () => void }>
  namespaces: readonly Namespace[]
  typed: Record<string, string>
  submit: RegExp
  answer: object
  says: string
  leadsTo: string | null
  /** What its page reads before. */
  reads?: Answers
  /** Its page shows a failure itself; otherwise the request layer toasts it, wherever one is. */
  ofAForm: boolean
}

const specSample = sampleOf(gpuSpec) as GpuSpec
const paid = { ...(sampleOf(topup.data) as object), amount: 2_500, currency: 'USD' }
const topupPage = {
  operation: topup.operation,
  Page: Topup,
  namespaces: ['payments'],
  typed: {},
  submit: /^Pay/,
  ofAForm: true,
} as const satisfies Partial<Purchase>

const inTerm = madeInstance({ billing_type: 'prepay', charge_cycle: 'monthly' })
const termPage = {
  namespaces: ['terms-of-payment', 'instances'],
  typed: {},
  reads: {
    [previewBilling.operation]: () => ({ ...(sampleOf(previewBilling.data) as object), refused: null }),
  },
  leadsTo: '/instance-list',
  ofAForm: false,
} as const satisfies Partial<Purchase>

const PURCHASES: readonly Purchase[] = [
  {
    operation: deployInstance.operation,
    Page: Deploy,
    namespaces: ['explore', 'deploy', 'public-ip'],
    typed: { Name: 'llama-finetune' },
    submit: /^Deploy$/,
    answer: sampleOf(deployInstance.data) as object,
    says: 'llama-finetune is being deployed.',
    leadsTo: '/instance-list',
    ofAForm: true,
  },
  {
    operation: startInstance.operation,
    Page: ({ onDone }) => (
      <StartDialog instance={madeInstance({ status: 'stopped' })} opened onClose={onDone} />
    ),
    namespaces: ['instances'],
    typed: {},
    reads: {
      [listGpuSpecs.operation]: () => [
        { ...specSample, id: 'rtx4090', region_code: 'us-west', available: 2, counts: [1, 2] },
      ],
    },
    submit: /^Start$/,
    answer: sampleOf(startInstance.data) as object,
    says: 'machine is starting.',
    leadsTo: '/instance-list',
    ofAForm: false,
  },
  {
    ...termPage,
    operation: renewInstance.operation,
    Page: ({ onDone }) => <RenewDialog instance={inTerm} opened onClose={onDone} />,
    submit: /^Renew now$/,
    answer: sampleOf(renewInstance.data) as object,
    says: 'machine was renewed',
  },
  {
    ...termPage,
    operation: toggleSubscription.operation,
    Page: ({ onDone }) => <BillingDialog instance={madeInstance({})} opened onClose={onDone} />,
    submit: /^Change$/,
    answer: sampleOf(toggleSubscription.data) as object,
    says: 'machine is now paid for in another way',
  },
  {
    ...termPage,
    operation: convertChargeType.operation,
    Page: ({ onDone }) => <BillingDialog instance={inTerm} opened onClose={onDone} />,
    submit: /^Change$/,
    answer: sampleOf(convertChargeType.data) as object,
    says: 'machine is now paid for in another way',
  },
  {
    operation: createVolume.operation,
    Page: ({ onDone }) => <CreateVolumeDialog opened onClose={onDone} />,
    namespaces: ['volumes'],
    typed: { Name: 'datasets' },
    reads: { [getVolumePrice.operation]: () => sampleOf(getVolumePrice.data) },
    submit: /^Create$/,
    answer: sampleOf(createVolume.data) as object,
    says: 'datasets is being created.',
    leadsTo: '/network-volume',
    ofAForm: true,
  },
  {
    operation: growVolume.operation,
    Page: ({ onDone }) => <GrowVolumeDialog volume={madeVolume()} opened onClose={onDone} />,
    namespaces: ['volumes'],
    typed: { Size: '200' },
    reads: { [getVolumePrice.operation]: () => sampleOf(getVolumePrice.data) },
    submit: /^Grow$/,
    answer: sampleOf(growVolume.data) as object,
    says: 'datasets grows.',
    leadsTo: '/network-volume',
    ofAForm: true,
  },
  {
    operation: takeSnapshot.operation,
    Page: ({ onDone }) => <SnapshotsDialog volume={madeVolume()} opened onClose={onDone} />,
    namespaces: ['volumes'],
    typed: {},
    reads: { [listSnapshots.operation]: () => madeSnapshots() },
    submit: /^Take snapshot$/,
    answer: madeSnapshot({ status: 'making' }),
    says: 'A snapshot of datasets is being taken.',
    leadsTo: '/network-volume',
    ofAForm: false,
  },
  {
    operation: restoreSnapshot.operation,
    Page: ({ onDone }) => (
      <RestoreSnapshotDialog volume={madeVolume()} snapshot={madeSnapshot()} opened onClose={onDone} />
    ),
    namespaces: ['volumes'],
    typed: { Name: 'back' },
    reads: { [getVolumePrice.operation]: () => sampleOf(getVolumePrice.data) },
    submit: /^Restore$/,
    answer: { ...(sampleOf(restoreSnapshot.data) as object) },
    says: 'back is being made of the snapshot.',
    leadsTo: '/network-volume',
    ofAForm: true,
  },
  {
    operation: bindPublicIp.operation,
    Page: ({ onDone }) => (
      <BindPublicIpDialog instance={madeInstance({ tcp_ports: [22] })} opened onClose={onDone} />
    ),
    namespaces: ['public-ip', 'instances'],
    typed: {},
    reads: {
      [getPublicIpPrice.operation]: () => ({ ...(sampleOf(getPublicIpPrice.data) as object), available: 2 }),
    },
    submit: /^Bind public IP$/,
    answer: sampleOf(bindPublicIp.data) as object,
    says: 'machine has a public IP of its own now.',
    leadsTo: '/instance-list',
    ofAForm: false,
  },
  {
    operation: createImage.operation,
    Page: ({ onDone }) => (
      <ImageSheet
        about={{ task: 'again', image: madeOwnImage({ status: 'failed' }) }}
        opened
        onClose={onDone}
      />
    ),
    namespaces: ['images', 'image-form'],
    typed: {},
    reads: { [getImage.operation]: () => madeDetail({ id: 'im-000001', region_code: 'us-west' }) },
    submit: /^Build image$/,
    answer: madeOwnImage({ status: 'building' }),
    says: 'ComfyUI 0.9 is being built.',
    leadsTo: '/my-images',
    ofAForm: true,
  },
  {
    ...topupPage,
    answer: { ...paid, status: 'settled' },
    says: '$25.00 was added to your balance.',
    leadsTo: null,
  },
  {
    ...topupPage,
    answer: { ...paid, status: 'processing' },
    says: 'The payment of $25.00 is not decided yet.',
    leadsTo: '/payments?topup=open',
  },
]

function Deploy({ onDone }: { onDone: () => void }) {
  const [offer] = offersOf(sampleOf(listGpuSpecs.data) as never, '', 'price')
  if (!offer) throw new Error('There is no offer.')
  const [regions, images] = [allRegions, officialImages].map(({ data }) => sampleOf(data)) as [never, never]
  return <DeployForm offer={offer} regions={regions} images={images} onDeployed={onDone} />
}

function Topup({ onDone }: { onDone: () => void }) {
  return (
    <TopupForm
      platform={{
        platform_name: 'testcard',
        display_name: 'Test card',
        test: true,
        entry: 'card',
        publishable_key: null,
      }}
      balance={madeBalance()}
      typed={{ current: { amount: '25', source: '4242 4242 4242 4242' } }}
      onSettled={onDone}
      onInFlight={onDone}
    />
  )
}

/** Buys, leaves the page while the answer is on its way, and lets the answer come. */
async function buyAndLeave(purchase: Purchase, answer: object) {
  const { Page } = purchase
  const held = Promise.withResolvers<void>()
  const heard = { toasts: [] as object[], unseen: [] as string[], doneByPage: 0 }
  startToasts(({ tone, message, link }) => heard.toasts.push({ tone, message, href: link?.href ?? null }))
  onUnseen(error => heard.unseen.push(error.message))
  onTestFinished(() => {
    startToasts(() => undefined)
    onUnseen(() => undefined)
  })
  const { sent } = await answerCalls({
    [getBalance.operation]: () => madeBalance(),
    ...purchase.reads,
    [purchase.operation]: () => held.promise.then(() => answer),
  })
  let leave = () => {}
  await renderInPage(
    () => {
      const [isLeft, setLeft] = useState(false)
      leave = () => setLeft(true)
      return <InShell>{isLeft ? 'Another page' : <Page onDone={() => heard.doneByPage++} />}</InShell>
    },
    { namespaces: purchase.namespaces },
  )
  for (const [label, value] of Object.entries(purchase.typed)) {
    fireEvent.change(screen.getByLabelText(label), { target: { value } })
  }
  const button = await screen.findByRole<HTMLButtonElement>('button', { name: purchase.submit })
  // What it costs may be asked for first.
  await waitFor(() => expect(button.disabled).toBe(false))
  await act(async () => fireEvent.click(button))
  await act(async () => {
    leave()
    abortForNavigation()
  })
  expect(screen.getByText('Another page')).toBeDefined()
  await act(async () => held.resolve())
  return { ...heard, sent: sent.filter(({ operation }) => operation === purchase.operation) }
}

describe('a call that spends', () => {
  test('is in the table', () => {
    // The console pays by `topup`, and that is the way of programs that keep and charge a card by one call; a coupon
    // costs nothing. Pictures and videos are jobs: their page, and the header of every other one, say what comes of them.
    const others: readonly string[] = [
      ...[beginPayment.operation, applyCoupon.operation],
      ...[makeImages.operation, makeVideo.operation, retryCreation.operation],
    ]
    const spending = calls
      .filter(({ operation, spends }) => spends && !others.includes(operation))
      .map(({ operation }) => operation)
    expect([...new Set(PURCHASES.map(({ operation }) => operation))].toSorted()).toEqual(spending.toSorted())
  })

  test.each(PURCHASES)(
    '[R4.11] goes on when its page is left, and says what came of it: $says',
    async purchase => {
      const { toasts, unseen, sent, doneByPage } = await buyAndLeave(purchase, purchase.answer)
      const tone = purchase.says.includes('not decided') ? 'info' : 'good'
      expect(toasts).toEqual([{ tone, message: purchase.says, href: purchase.leadsTo }])
      expect(unseen).toEqual([])
      // Closing the tab does not end it either, and it is sent once.
      expect(sent.map(({ keepalive }) => keepalive)).toEqual([true])
      expect(doneByPage, 'nothing is done to a page that is gone').toBe(0)
    },
  )

  test.each(PURCHASES.filter(({ ofAForm }) => ofAForm))(
    'that is refused after its form is gone says why: $operation',
    async purchase => {
      const { toasts, unseen } = await buyAndLeave(purchase, new Refusal([], 'gpu_sold_out', 409))
      expect({ toasts, unseen }).toEqual({ toasts: [], unseen: ['refused: gpu_sold_out'] })
    },
  )
})
