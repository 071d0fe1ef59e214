import { checkResource, deployInstance, getPrice } from '@berth/contract/instances'
import { cancelOfferWatch, listOfferWatches, offerWatch, watchOffer } from '@berth/contract/offer-watches'
import { type GpuSpec, gpuSpec } from '@berth/contract/regions'
import { fireEvent, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { type Answers, answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { offersOf } from '../../../offers/offers.ts'
import { sampleOf } from '../../../schema-fixture.ts'
import { DeployForm } from '../DeployForm.tsx'
import { WatchList } from './WatchList.tsx'

const NAMESPACES = ['explore', 'deploy', 'offers', 'terms-of-payment', 'watches'] as const
const spec: GpuSpec = {
  ...(sampleOf(gpuSpec) as GpuSpec),
  id: 'b200',
  name: 'B200',
  region_code: 'us-west',
  counts: [1, 2],
  available: 0,
  stock_known: true,
}
const region = { code: 'us-west', name: 'US West' }
const image = { id: 'base', name: 'Base', kind: 'POD', available: true, http_ports: [], tcp_ports: [] }
const price = { ...(sampleOf(getPrice.data) as object), running_micro_per_hour: '2390000', currency: 'USD' }

async function openForm(stock: Partial<GpuSpec>) {
  const [offer] = offersOf([{ ...spec, ...stock }], '', 'price')
  if (!offer) throw new Error('There is no offer.')
  const { sent } = await answerCalls({
    [getPrice.operation]: () => price,
    [checkResource.operation]: () => ({ ok: false, checks: [] }),
    [watchOffer.operation]: () => sampleOf(offerWatch),
  })
  await renderInPage(
    () => (
      <InShell>
        <DeployForm
          offer={offer}
          regions={[region] as never}
          images={[image] as never}
          onDeployed={() => undefined}
        />
      </InShell>
    ),
    { namespaces: NAMESPACES },
  )
  const of = (call: { operation: string }) => sent.filter(({ operation }) => operation === call.operation)
  return { sent: () => of(watchOffer), deployed: () => of(deployInstance) }
}

describe('[B15] an offer that is sold out', () => {
  test('can be watched for a mail, whatever else the form holds', async () => {
    const { sent } = await openForm({})
    screen.getByRole('heading', { name: '1 × B200 is sold out in US West' })
    await userEvent.click(screen.getByRole('button', { name: 'Mail me when it is back' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Watch' }))
    await waitFor(() => expect(sent()).toHaveLength(1))
    expect(sent()[0]?.body).toMatchObject({ gpu_spec_id: 'b200', region_code: 'us-west', deploy: null })
  })

  test('is deployed when it is back, as the form says, under a price that begins with today’s', async () => {
    const { sent, deployed } = await openForm({})
    const deploy = screen.getByRole('button', { name: 'Deploy it when it is back' })
    // What is to be deployed must be right now: the field that is not says so.
    await userEvent.click(deploy)
    expect(screen.queryByLabelText(/an hour, at most/)).toBeNull()
    expect(screen.getByLabelText<HTMLInputElement>('Name').getAttribute('aria-invalid')).toBe('true')
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'later' } })
    await waitFor(() => expect(screen.getByText(/2\.39/)).toBeDefined())
    await userEvent.click(deploy)
    const most = await screen.findByLabelText<HTMLInputElement>('USD an hour, at most')
    expect(most.value).toBe('2.39')
    fireEvent.change(most, { target: { value: 'cheap' } })
    await userEvent.click(screen.getByRole('button', { name: 'Watch' }))
    expect(most.getAttribute('aria-invalid')).toBe('true')
    fireEvent.change(most, { target: { value: '2,5' } })
    await userEvent.click(screen.getByRole('button', { name: 'Watch' }))
    await waitFor(() => expect(sent()).toHaveLength(1))
    expect(sent()[0]?.body).toMatchObject({
      gpu_count: 1,
      deploy: {
        price_max_micro_per_hour: '2500000',
        setup: { name: 'later', billing_type: 'postpay', image_id: 'base' },
      },
    })
    // The dialog's form lies in the page's own, as React sees it, which is not sent along.
    expect(deployed()).toEqual([])
  })

  test.each([
    { available: 1, stock_known: true },
    { available: 0, stock_known: false },
  ])('is not said of one that is there, or of which nobody can tell: %o', async stock => {
    await openForm(stock)
    expect(screen.queryByRole('button', { name: 'Mail me when it is back' })).toBeNull()
  })
})

test('[B15] what is watched says what came of it, and is watched no more when asked', async () => {
  const watch = {
    ...(sampleOf(offerWatch) as object),
    gpu_spec_name: 'B200',
    region_name: 'US West',
    gpu_count: 2,
    action: 'deploy',
    instance_name: 'later',
    price_max_micro_per_hour: '2500000',
    state: 'waiting',
    held_by: 'price_above',
  }
  const answers: Answers = {
    [listOfferWatches.operation]: () => [watch],
    [cancelOfferWatch.operation]: () => null,
  }
  const { sent } = await answerCalls(answers)
  await renderInPage(
    () => (
      <InShell>
        <WatchList />
      </InShell>
    ),
    { namespaces: NAMESPACES },
  )
  await screen.findByText('2 × B200, US West')
  screen.getByText(/Deploys later at up to \$2\.50 \/h · until/)
  screen.getByText('It was back at a higher price.')
  await userEvent.click(screen.getByRole('button', { name: 'End the watch of 2 × B200, US West' }))
  await userEvent.click(await screen.findByRole('button', { name: 'End watch' }))
  await waitFor(() =>
    expect(sent.filter(({ operation }) => operation === cancelOfferWatch.operation)).toHaveLength(1),
  )
})
