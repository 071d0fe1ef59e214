import { deploySetup, getInstanceSetup, listDeployTemplates } from '@berth/contract/deploy-templates'
import { communityImages, customImages } from '@berth/contract/images'
import { getInstance } from '@berth/contract/instance-page'
import { pageInstances } from '@berth/contract/instance-paging'
import { deployInstance } from '@berth/contract/instances'
import { gpuSpec, listGpuSpecs } from '@berth/contract/regions'
import { act, cleanup, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, InShell, Refusal } from './gateway-fixture.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { Page as ExplorePage } from './pages/explore/ExplorePage.tsx'
import { Page as InstancePage } from './pages/instance/InstancePage.tsx'
import { sampleOf } from './schema-fixture.ts'

const ID = 'i-7q2m9x'
const LIKE = `?like=${ID}`
const LLAMA = madeInstance({ instance_id: ID, name: 'llama' })

/** On another spec than the one that the page offers first. */
const SETUP = deploySetup.parse({
  name: 'llama',
  region_code: '1',
  gpu_spec_id: 'second',
  gpu_count: 2,
  image_reference: 'ghcr.io/anna/tools:2',
  container_disk_gb: 40,
  http_ports: [8888, 3000],
  tcp_ports: [22],
  udp_ports: [51_820],
  start_command: 'python serve.py',
  env: { MODE: 'fast' },
})

const answers = {
  [getInstance.operation]: () => LLAMA,
  [pageInstances.operation]: () => ({ items: [LLAMA], next_cursor: null, total: 1 }),
  [getInstanceSetup.operation]: () => SETUP,
  [listDeployTemplates.operation]: () => [],
  [communityImages.operation]: () => [],
  [customImages.operation]: () => [],
  [listGpuSpecs.operation]: () =>
    ['first', 'second'].map(id => ({
      ...(sampleOf(gpuSpec) as object),
      ...{ id, name: id, available: 8, total: 8, counts: [1, 2], stock_known: true },
    })),
}

const show = (Page: typeof ExplorePage, at: string) =>
  renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    {
      namespaces: [
        ...(['instance', 'instances', 'events', 'explore', 'deploy'] as const),
        ...(['offers', 'public-ip', 'terms-of-payment'] as const),
      ],
      at,
    },
  )

/** What a field of the form holds. */
const held = async (label: string) => (await screen.findByLabelText<HTMLInputElement>(label)).value

async function expectFilled() {
  expect(await held('Image')).toBe('ghcr.io/anna/tools:2')
  expect(await held('HTTP ports')).toBe('8888, 3000')
  expect(await held('TCP ports')).toBe('22')
  expect(await held('UDP ports')).toBe('51820')
  expect(await held('Start command')).toBe('python serve.py')
  expect(await held('Value of MODE')).toBe('fast')
}

test('[B18] the menu of an instance leads to the form, which is filled with what it was deployed with, spec included', async () => {
  const { sent } = await answerCalls(answers)
  const page = await show(InstancePage, `?id=${ID}`)
  fireEvent.click(await screen.findByRole('button', { name: 'All actions of llama' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Deploy another like this' }))
  await waitFor(() => expect(page.path()).toBe('/explore'))
  expect(page.search()).toBe(LIKE)
  cleanup()

  const form = await show(ExplorePage, page.search())
  await expectFilled()
  expect(sent.find(({ operation }) => operation === getInstanceSetup.operation)?.path).toContain(ID)
  expect(new URLSearchParams(form.search())).toEqual(new URLSearchParams({ like: ID, spec: 'second' }))
  const [deploy] = screen.getAllByRole('button', { name: 'Deploy' }).filter(node => node.closest('form'))
  await act(async () => fireEvent.click(deploy as HTMLElement))
  const isDeploy = ({ operation }: { operation: string }) => operation === deployInstance.operation
  await waitFor(() => expect(sent.some(isDeploy)).toBe(true))
  const { name, gpu_spec_id, gpu_count, image_reference, container_disk_gb, udp_ports } = SETUP
  expect(sent.find(isDeploy)?.body).toMatchObject({
    ...{ name, gpu_spec_id, gpu_count, image_reference, container_disk_gb, udp_ports },
  })
})

test('[B18] an instance that is chosen above the form fills it as well', async () => {
  await answerCalls(answers)
  const page = await show(ExplorePage, '')
  expect(await held('UDP ports')).toBe('')
  fireEvent.click(await screen.findByRole('button', { name: 'Use an earlier setup' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Like llama' }))
  await waitFor(async () => expect(await held('UDP ports')).toBe('51820'))
  await expectFilled()
  expect(new URLSearchParams(page.search()).get('like')).toBe(ID)
})

test('[B18] what cannot be repeated says why, and leaves a form of its own', async () => {
  await answerCalls({
    ...answers,
    [getInstanceSetup.operation]: () => new Refusal([], 'not_found', 404),
  })
  await show(ExplorePage, LIKE)
  expect((await screen.findByText(/^The earlier setup could not be read: /)).getAttribute('role')).toBe(
    'alert',
  )
  expect(await held('UDP ports')).toBe('')
})
