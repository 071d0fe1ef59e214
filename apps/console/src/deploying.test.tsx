import { deploySetup } from '@berth/contract/deploy-templates'
import { officialImages } from '@berth/contract/images'
import { getInstance } from '@berth/contract/instance-page'
import { checkResource, deployInstance } from '@berth/contract/instances'
import { getPublicIpPrice } from '@berth/contract/public-ip-calls'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import { listRegistryCredentials } from '@berth/contract/registries'
import { useBlocker } from '@tanstack/react-router'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test } from 'vitest'
import { reread } from './api/cache-lifecycle.ts'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, InShell, Refusal } from './gateway-fixture.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { offersOf } from './offers/offers.ts'
import { DeployForm } from './pages/explore/DeployForm.tsx'
import { DeployProgress } from './pages/explore/DeployProgress.tsx'
import { sampleOf } from './schema-fixture.ts'
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
  await answerCalls({ [getInstance.operation]: () => machine })
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

test('[R8.2] [R2.26] a deploy that came to its end says so once, though its instance changes until the list is there', async () => {
  const toasts: string[] = []
  startToasts(({ message }) => toasts.push(message))
  onTestFinished(() => startToasts(() => undefined))
  const list = Promise.withResolvers<boolean>()
  let machine = madeInstance({ status: 'running' })
  await answerCalls({ [getInstance.operation]: () => machine })
  const page = await renderInPage(
    () => {
      // The list takes its time to come, so the dialog is still there.
      useBlocker({ shouldBlockFn: () => list.promise, enableBeforeUnload: false })
      return (
        <InShell>
          <DeployProgress id="i-000000" name="llama" />
        </InShell>
      )
    },
    { namespaces: ['explore', 'events'] },
  )
  await waitFor(() => expect(toasts).toEqual(['llama is ready.']))
  machine = madeInstance({ status: 'exited', progress: { ...progress, percent: 40 } })
  await act(() => reread([getInstance.operation]))
  // It was drawn as it is now, and nothing more was said.
  expect(await screen.findByText('40 %')).toBeTruthy()
  expect(toasts).toEqual(['llama is ready.'])
  await act(async () => list.resolve(false))
  await waitFor(() => expect(page.path()).toBe('/instance-list'))
  expect(toasts).toEqual(['llama is ready.'])
})

const SETUP = deploySetup.parse({
  name: 'again',
  region_code: '1',
  gpu_spec_id: '1',
  gpu_count: 1,
  image_reference: 'ghcr.io/anna/tools:2',
  container_disk_gb: 40,
  env: { MODE: 'fast', LOGIN: '' },
  secret_env: ['LOGIN'],
})

/** It asks for nothing to be typed. */
const PLAIN = deploySetup.parse({ ...SETUP, env: {}, secret_env: [] })

/** The form, filled from an earlier setup. */
async function openRepeated(answers: Parameters<typeof answerCalls>[0] = {}, setup = SETUP) {
  const specs = (sampleOf(listGpuSpecs.data) as object[]).map(spec => ({
    ...spec,
    available: 1,
    counts: [1],
  }))
  const [offer] = offersOf(specs as never, '', 'price')
  if (!offer) throw new Error('There is no offer.')
  const [regions, images] = [allRegions, officialImages].map(({ data }) => sampleOf(data)) as [never, never]
  const answered = await answerCalls(answers)
  await renderInPage(
    () => (
      <InShell>
        <DeployForm offer={offer} regions={regions} images={images} setup={setup} onDeployed={() => {}} />
      </InShell>
    ),
    { namespaces: ['explore', 'deploy', 'public-ip', 'terms-of-payment'] },
  )
  return answered
}

const button = async (name: string) =>
  (await screen.findAllByRole('button', { name })).find(node => node.closest('form')) as HTMLElement

test('[B18] a form that is filled from an earlier setup sends what that was, with secrets typed anew', async () => {
  const { sent } = await openRepeated()
  const secret = await screen.findByLabelText<HTMLInputElement>('Value of LOGIN')
  expect(secret.type).toBe('password')
  expect(secret.value).toBe('')
  fireEvent.change(secret, { target: { value: 's3cret' } })
  await act(async () => fireEvent.click(await button('The same as a call')))
  const code = await screen.findByText(/^curl /)
  expect(code.textContent).toContain('"image_reference": "ghcr.io/anna/tools:2"')
  expect(code.textContent).toContain('"LOGIN": "<LOGIN>"')
  expect(code.textContent).not.toContain('s3cret')
  fireEvent.keyDown(code, { key: 'Escape' })
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(deployInstance.operation))
  const { name, region_code, image_id, image_reference, container_disk_gb, secret_env } = SETUP
  expect(sent.find(({ operation }) => operation === deployInstance.operation)?.body).toMatchObject({
    ...{ name, region_code, image_id, image_reference, container_disk_gb, secret_env },
    env: { MODE: 'fast', LOGIN: 's3cret' },
  })
})

test('[B18] [R4.3] it is paid for as the earlier one was, renewal and idle stop included', async () => {
  const earlier = deploySetup.parse({
    ...SETUP,
    env: {},
    secret_env: [],
    billing_type: 'prepay',
    charge_cycle: 'weekly',
    auto_renew: false,
    idle_stop_minutes: 30,
    spend_limit_cents: 5_000,
  })
  const { sent } = await openRepeated({}, earlier)
  expect((await screen.findByRole<HTMLInputElement>('radio', { name: 'Weekly' })).checked).toBe(true)
  expect(screen.getByRole<HTMLInputElement>('switch').checked).toBe(false)
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(deployInstance.operation))
  const { billing_type, charge_cycle, auto_renew, idle_stop_minutes, spend_limit_cents } = earlier
  expect(sent.find(({ operation }) => operation === deployInstance.operation)?.body).toMatchObject({
    ...{ billing_type, charge_cycle, auto_renew, idle_stop_minutes, spend_limit_cents },
  })
})

const CREDENTIAL = '0b3f8f0e-6f5c-4a0e-9a59-3a1c5d2f7e61'

test('[R3.12] an image of a registry is deployed with the credential that was chosen, and without one again', async () => {
  const credential = {
    ...(sampleOf(listRegistryCredentials.data) as object[])[0],
    ...{ id: CREDENTIAL, name: 'work', registry: 'ghcr.io', username: 'anna' },
  }
  const { sent } = await openRepeated({ [listRegistryCredentials.operation]: () => [credential] }, PLAIN)
  const last = (operation: string) => sent.findLast(one => one.operation === operation)?.body
  const choose = async (name: string) => {
    fireEvent.click(await screen.findByRole('combobox', { name: 'Registry credential' }))
    await act(async () => fireEvent.click(await screen.findByRole('option', { name })))
  }
  await choose('work · anna at ghcr.io')
  await act(async () => fireEvent.click(await button('Deploy')))
  const { image_reference } = PLAIN
  const chosen = { image_id: null, image_reference, registry_credential_id: CREDENTIAL }
  await waitFor(() => expect(last(deployInstance.operation)).toMatchObject(chosen))
  // It is checked before with what it is deployed with.
  await waitFor(() =>
    expect(last(checkResource.operation)).toMatchObject({ registry_credential_id: CREDENTIAL }),
  )
  await choose('None, the image is public')
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() =>
    expect(last(deployInstance.operation)).toMatchObject({ image_reference, registry_credential_id: null }),
  )
})

test('[R2.23] UDP ports that are typed are deployed with, apart from the others, and what is no port is said first', async () => {
  const { sent } = await openRepeated({}, PLAIN)
  const field = await screen.findByLabelText<HTMLInputElement>('UDP ports')
  const last = () => sent.findLast(({ operation }) => operation === deployInstance.operation)?.body
  fireEvent.change(field, { target: { value: '51820, 70000' } })
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect(field.value).toBe('51820, 70000')
  expect(last()).toBeUndefined()
  fireEvent.change(field, { target: { value: '51820, 53' } })
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() =>
    expect(last()).toMatchObject({ http_ports: [], tcp_ports: [], udp_ports: [51_820, 53] }),
  )
})

test('[B7] what a registry says of an image stands at the field of the image', async () => {
  const check = { key: 'image', ok: false, code: 'image_needs_login', values: { field: 'image_reference' } }
  await openRepeated({ [checkResource.operation]: () => ({ ok: false, checks: [check] }) })
  const field = await screen.findByLabelText('Image')
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect(document.body.textContent).toContain('The registry gives this image to nobody without a login')
})

test('[B7] Deploy stays on while a check fails, and leads to the field that is at fault', async () => {
  const check = { key: 'image', ok: false, code: 'image_needs_login', values: { field: 'image_reference' } }
  const { sent } = await openRepeated(
    {
      [checkResource.operation]: () => ({ ok: false, checks: [check] }),
      [deployInstance.operation]: () =>
        new Refusal([{ path: 'image_reference', msg: 'It needs a login.' }], 'validation_failed'),
    },
    PLAIN,
  )
  const field = await screen.findByLabelText<HTMLInputElement>('Image')
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  const deploy = await button('Deploy')
  expect(deploy.getAttribute('aria-disabled')).toBeNull()
  await act(async () => fireEvent.click(deploy))
  await waitFor(() => expect(document.activeElement).toBe(field))
  expect(field.value).toBe(PLAIN.image_reference)
  expect(sent.filter(({ operation }) => operation === deployInstance.operation)).toHaveLength(1)
})

test('[B7] what is wrong with a volume or a port stands at its field before anything is sent, and its fold opens', async () => {
  const check = {
    key: 'ports',
    ok: false,
    code: 'direct_ports_used_up',
    values: { field: 'tcp_ports', wanted: 2, left: 1 },
  }
  const fits = (body: unknown) => (body as { tcp_ports: number[] }).tcp_ports.length < 2
  const { sent } = await openRepeated({
    [checkResource.operation]: ({ body }) =>
      fits(body) ? { ok: true, checks: [] } : { ok: false, checks: [check] },
  })
  const field = await screen.findByLabelText<HTMLInputElement>('TCP ports')
  expect(field.closest('details')?.open).toBe(false)
  fireEvent.change(field, { target: { value: '22, 23' } })
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect(field.closest('details')?.open).toBe(true)
  const said =
    'Fewer direct ports are free here than are asked for. Ask for fewer, or take an address of its own'
  expect(screen.getAllByText(said)).toHaveLength(2)
  // What is typed is judged anew, and what is no port yet is left to the form.
  fireEvent.change(field, { target: { value: '22, x' } })
  await waitFor(() => expect(field.getAttribute('aria-invalid')).not.toBe('true'))
  expect(sent.map(({ operation }) => operation)).not.toContain(deployInstance.operation)
})

test('[R2.25] an address of its own is chosen with its price and its stock, and is priced, checked and deployed with', async () => {
  const { sent } = await openRepeated({
    [getPublicIpPrice.operation]: () => ({
      currency: 'USD',
      rate_micro_per_hour: '5000',
      total: 2,
      available: 1,
    }),
  })
  const choice = await screen.findByRole<HTMLInputElement>('radio', { name: /^Dedicated address/ })
  expect(choice.closest('label')?.textContent).toMatch(/\$0\.0050 \/h.*paid for, while stopped.*1 is free/)
  expect(screen.getByRole<HTMLInputElement>('radio', { name: /^Shared address/ }).checked).toBe(true)
  fireEvent.click(choice)
  const last = (operation: string) => sent.findLast(one => one.operation === operation)?.body
  await waitFor(() => expect(last(checkResource.operation)).toMatchObject({ public_ip: 'dedicated' }))
  fireEvent.change(screen.getByLabelText('TCP ports'), { target: { value: '22' } })
  fireEvent.change(screen.getByLabelText('Value of LOGIN'), { target: { value: 's3cret' } })
  await act(async () => fireEvent.click(await button('Deploy')))
  await waitFor(() => expect(last(deployInstance.operation)).toMatchObject({ public_ip: 'dedicated' }))
})

test('[R2.25] an address of its own without a direct port is said at the address, and nothing is sent', async () => {
  const { sent } = await openRepeated({
    [getPublicIpPrice.operation]: () => ({
      currency: 'USD',
      rate_micro_per_hour: '5000',
      total: 2,
      available: 1,
    }),
  })
  const choice = await screen.findByRole<HTMLInputElement>('radio', { name: /^Dedicated address/ })
  fireEvent.click(choice)
  fireEvent.change(screen.getByLabelText('TCP ports'), { target: { value: '' } })
  fireEvent.change(screen.getByLabelText('UDP ports'), { target: { value: '' } })
  fireEvent.change(screen.getByLabelText('Value of LOGIN'), { target: { value: 's3cret' } })
  await act(async () => fireEvent.click(await button('Deploy')))
  const group = await screen.findByRole('group', { name: 'Public IP' })
  const said = document.getElementById(group.getAttribute('aria-describedby') ?? '')
  expect(said?.textContent).toBe('A public IP of its own needs a TCP or UDP port')
  expect(document.activeElement).toBe(choice)
  expect(sent.some(({ operation }) => operation === deployInstance.operation)).toBe(false)
})

test('[R2.25] an address of its own cannot be chosen where none is free', async () => {
  await openRepeated({
    [getPublicIpPrice.operation]: () => ({
      currency: 'USD',
      rate_micro_per_hour: '5000',
      total: 0,
      available: 0,
    }),
  })
  const choice = await screen.findByRole<HTMLInputElement>('radio', { name: /^Dedicated address/ })
  await waitFor(() => expect(choice.disabled).toBe(true))
  expect(choice.closest('label')?.textContent).toContain('This region has none to give')
})
