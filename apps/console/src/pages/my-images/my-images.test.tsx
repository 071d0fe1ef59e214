import { type CustomImage, customImages, getImage, getImagePrice } from '@berth/contract/images'
import { pageInstances } from '@berth/contract/instance-paging'
import {
  cancelPublishing,
  createImage,
  deleteImage,
  editImage,
  makeImagePrivate,
  publishImage,
} from '@berth/contract/own-images'
import { allRegions } from '@berth/contract/regions'
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeDetail, madeOwnImage } from '../../images/image-fixture.ts'
import { madeInstance } from '../../instances/instance-fixture.ts'
import { Page } from './MyImagesPage.tsx'

const EVERY: readonly CustomImage[] = [
  madeOwnImage({
    id: 'im-000001',
    name: 'llama-base',
    status: 'building',
    size: 0,
    micro_per_day: '0',
    progress: { step: 'saving', bytes_done: 5_200_000_000, bytes_total: 8_900_000_000, build_steps: null },
  }),
  madeOwnImage({ id: 'im-000002', name: 'vllm-awq' }),
  madeOwnImage({
    id: 'im-000003',
    name: 'comfy-studio',
    status: 'review',
    status_since: '2026-11-19T10:00:00.000Z',
    review_by: '2026-11-24T23:59:00.000Z',
  }),
  madeOwnImage({
    id: 'im-000004',
    name: 'whisper',
    status: 'community',
    community_image_id: 'im-public',
    deploys: 1_284,
    deploys_week: 31,
  }),
  madeOwnImage({
    id: 'im-000005',
    name: 'sd-lora',
    status: 'refused',
    reason: { code: 'refused', detail: 'README names port 7861; the image opens 7860' },
    source: {
      instance_id: null,
      instance_name: null,
      image_reference: 'ghcr.io/acme/sd-lora:2',
      dockerfile: null,
      git: null,
    },
  }),
  madeOwnImage({
    id: 'im-000006',
    name: 'embed',
    status: 'failed',
    size: 0,
    micro_per_day: '0',
    reason: { code: 'no_room', detail: 'disk full' },
  }),
]

async function open(images: readonly CustomImage[] = EVERY, answers: Answers = {}, at = '') {
  const { sent } = await answerCalls({
    [customImages.operation]: () => images,
    [getImagePrice.operation]: () => ({
      currency: 'USD',
      micro_per_gb_day: '1700',
      micro_per_day: '61200',
      size: 36_864,
    }),
    [allRegions.operation]: () => [{ code: 'us-west', name: 'us-west', enabled: true }],
    [pageInstances.operation]: () => ({
      items: [
        madeInstance({ name: 'trainer' }),
        madeInstance({ instance_id: 'i-000009', name: 'idle', status: 'stopped' }),
      ],
      total: 2,
      next_cursor: null,
    }),
    [getImage.operation]: () => madeDetail({ id: 'im-000001', region_code: 'us-west' }),
    ...answers,
  })
  const show = () =>
    renderInPage(
      () => (
        <InShell>
          <Page />
        </InShell>
      ),
      { namespaces: ['images', 'image-form'], at },
    )
  return {
    ...(await show()),
    again: async () => {
      cleanup()
      await show()
    },
    of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation),
  }
}

const rowOf = async (name: string) => (await screen.findByText(name)).closest('tr') as HTMLElement
const namesOf = () =>
  screen.getAllByRole('row').flatMap(row => within(row).queryByRole('link')?.textContent ?? [])

async function menuOf(name: string): Promise<HTMLElement[]> {
  await userEvent.click(
    within(await rowOf(name))
      .getAllByRole('button')
      .at(-1) as HTMLElement,
  )
  return await screen.findAllByRole('menuitem')
}

async function choose(name: string, action: string): Promise<void> {
  const items = await menuOf(name)
  await userEvent.click(items.find(({ textContent }) => textContent?.startsWith(action)) as HTMLElement)
}

const type = (label: string, value: string) =>
  fireEvent.change(screen.getByLabelText(label, { selector: 'input, textarea' }), { target: { value } })

async function describeImage(): Promise<void> {
  await screen.findByLabelText('Name')
  type('Name', 'llama-finetune-base')
  type('Description', 'Llama, fine-tuned.')
  type('README', '# What it is')
  await userEvent.click(screen.getByRole('checkbox', { name: 'training' }))
}

describe('the list of one’s own images', () => {
  test('[R3.4] [R4.8] says what became of each, why, and what it costs, and of all together', async () => {
    await open()
    const said: Record<string, readonly string[]> = {
      'llama-base': ['Building, 58%', '5.2 GB of 8.9 GB', 'not billed yet'],
      'vllm-awq': ['Private', 'only you can deploy it', '17 GB', '$0.0289 /day'],
      'comfy-studio': ['In review', 'sent 19 Nov 2026, answer by 24 Nov 2026'],
      whisper: ['Community', '1,284 deploys, 31 this week'],
      'sd-lora': ['Refused', 'README names port 7861; the image opens 7860', 'ghcr.io/acme/sd-lora:2'],
      embed: ['Build failed', 'There was no room for it; nothing was kept.', 'not billed'],
    }
    for (const [name, texts] of Object.entries(said)) {
      const row = within(await rowOf(name))
      for (const text of texts) expect(row.getByText(text), name).toBeTruthy()
    }
    expect(await screen.findByText('36 GB kept at $0.0017 /day for each GB: $0.0612 /day')).toBeTruthy()
  })

  test('one that was given up is said to be so, and needs nobody', async () => {
    const reason = { code: 'build_canceled' as const, detail: '' }
    await open([
      ...EVERY,
      madeOwnImage({ id: 'im-000007', name: 'tried', status: 'failed', size: 0, reason }),
    ])
    expect((await rowOf('tried')).textContent).toContain('Given up')
    await userEvent.click(screen.getByRole('radio', { name: /^Needs you/ }))
    await waitFor(() => expect(namesOf()).toEqual(['sd-lora', 'embed']))
  })

  test('“Needs you” gathers what was refused and what failed, in the address too', async () => {
    const { search } = await open()
    await rowOf('embed')
    await userEvent.click(screen.getByRole('radio', { name: /^Needs you/ }))
    await waitFor(() => expect(namesOf()).toEqual(['sd-lora', 'embed']))
    expect(search()).toContain('state=needs')
  })

  test('[R4.8] an action that its status does not allow stays in sight with the reason', async () => {
    await open()
    const items = await menuOf('llama-base')
    const publish = items.find(({ textContent }) => textContent?.startsWith('Publish')) as HTMLElement
    expect(publish.getAttribute('aria-disabled')).toBe('true')
    expect(publish.textContent).toContain('It is still being made.')
  })

  test.each([
    ['vllm-awq', 'Publish', publishImage],
    ['comfy-studio', 'Take back', cancelPublishing],
    ['whisper', 'Make private', makeImagePrivate],
    ['vllm-awq', 'Delete', deleteImage],
  ] as const)('[R2.24] [R4.8] of %s: %s asks first, and is sent once', async (name, action, call) => {
    const { of } = await open(EVERY, { [call.operation]: () => EVERY[1] })
    await choose(name, action)
    const dialog = within(await screen.findByRole('dialog'))
    expect(of(call)).toEqual([])
    await userEvent.click(dialog.getByRole('button', { name: action }))
    await waitFor(() => expect(of(call)).toHaveLength(1))
  })

  test('[R4.8] deleting says that the community’s copy stays', async () => {
    await open()
    await choose('whisper', 'Delete')
    expect(await screen.findByText(/The community’s copy of it stays/)).toBeTruthy()
  })

  test('says what to do where there is none', async () => {
    await open([])
    expect(await screen.findByText('No images yet')).toBeTruthy()
  })
})

describe('the sheet in which an image is made', () => {
  const openSheet = () =>
    userEvent.click(screen.getAllByRole('button', { name: 'Create image' })[0] as HTMLElement)

  test('[R4.6] of the instances, those that cannot be one now say why', async () => {
    await open()
    await rowOf('embed')
    await openSheet()
    await userEvent.click(await screen.findByLabelText('Instance', { selector: 'input' }))
    const off = await screen.findByText('idle · Stopped: only while it runs')
    expect(off.closest('[role="option"]')?.getAttribute('data-combobox-disabled')).toBe('true')
  })

  test('[R2.24] [R5.5] an image of an instance is sent as it was described, and its progress follows', async () => {
    const made = madeOwnImage({
      id: 'im-000001',
      name: 'llama-finetune-base',
      status: 'building',
      progress: { step: 'saving', bytes_done: 5_200_000_000, bytes_total: 8_900_000_000, build_steps: null },
    })
    const { of } = await open([made], { [createImage.operation]: () => made })
    await rowOf('llama-finetune-base')
    await openSheet()
    await userEvent.click(await screen.findByLabelText('Instance', { selector: 'input' }))
    await userEvent.click(await screen.findByText('trainer'))
    await describeImage()
    await userEvent.click(screen.getByRole('button', { name: 'Build image' }))
    await waitFor(() => expect(of(createImage)).toHaveLength(1))
    expect(of(createImage)[0]?.body).toMatchObject({
      instance_id: 'i-000000',
      image_reference: null,
      name: 'llama-finetune-base',
      tags: ['training'],
      region_code: 'us-west',
    })
    const dialog = within(screen.getByRole('dialog'))
    expect(await dialog.findByText('58%')).toBeTruthy()
    expect(dialog.getByText('5.2 GB of 8.9 GB')).toBeTruthy()
    expect(dialog.getByRole('button', { name: 'Cancel build' })).toBeTruthy()
  })

  test('[R5.5] every rule is said at its field before anything is sent', async () => {
    const { of } = await open([])
    await screen.findByText('No images yet')
    await userEvent.click(screen.getByRole('button', { name: 'From a registry' }))
    await screen.findByLabelText('Name')
    type('Name', 'x')
    type('HTTP ports', '0')
    type('TCP ports', '1,2,3,4,5,6,7,8,9,10,11')
    type('Start command', 'x'.repeat(501))
    await userEvent.click(screen.getByRole('button', { name: 'Build image' }))
    const fieldWith = (label: string) => screen.getByLabelText(label, { selector: 'input, textarea' })
    for (const label of ['Name', 'Description', 'HTTP ports', 'TCP ports', 'Start command', 'README'])
      expect(fieldWith(label).getAttribute('aria-invalid'), label).toBe('true')
    expect(of(createImage)).toEqual([])
  })

  test('what was typed outlives a refusal, and the page that it was typed in', async () => {
    const { again } = await open([], {
      [createImage.operation]: () => new Refusal([{ path: 'name', msg: 'Taken.' }]),
    })
    await screen.findByText('No images yet')
    await userEvent.click(screen.getByRole('button', { name: 'From a registry' }))
    await describeImage()
    type('Image of a registry', 'debian:12')
    await userEvent.click(screen.getByRole('button', { name: 'Build image' }))
    await screen.findByLabelText('Name')
    await again()
    await userEvent.click(await screen.findByRole('button', { name: 'From a registry' }))
    const name = (await screen.findByLabelText('Name')) as HTMLInputElement
    expect(name.value).toBe('llama-finetune-base')
    expect((screen.getByLabelText('Image of a registry') as HTMLInputElement).value).toBe('debian:12')
    expect((screen.getByRole('checkbox', { name: 'training' }) as HTMLInputElement).checked).toBe(true)
  })

  test('[R4.8] one that was refused says why, and is sent again with what was put right', async () => {
    const { of } = await open(EVERY, {
      [editImage.operation]: () => EVERY[4],
      [publishImage.operation]: () => EVERY[2],
    })
    const row = within(await rowOf('sd-lora'))
    await userEvent.click(row.getByRole('button', { name: /^Edit and resend/ }))
    expect(await screen.findByText(/^It was refused: README names port 7861/)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Save and send again' }))
    await waitFor(() => expect(of(publishImage)).toHaveLength(1))
    expect(of(editImage)).toHaveLength(1)
  })

  test('[R4.8] a new version of what is published is made of another thing, and says that the old one stays', async () => {
    const { of } = await open(EVERY, { [createImage.operation]: () => EVERY[0] })
    await choose('whisper', 'New version')
    expect(await screen.findByText(/The community’s version stays and can be deployed/)).toBeTruthy()
    await userEvent.click(screen.getByRole('radio', { name: 'A registry' }))
    type('Image of a registry', 'ghcr.io/acme/whisper:4')
    await userEvent.click(screen.getByRole('button', { name: 'Build image' }))
    await waitFor(() => expect(of(createImage)).toHaveLength(1))
    expect(of(createImage)[0]?.body).toMatchObject({
      version_of: EVERY[3]?.community_image_id,
      image_reference: 'ghcr.io/acme/whisper:4',
      instance_id: null,
      name: 'whisper',
      readme: '# What it is',
    })
  })

  test('[R4.8] publishing a new version says what it takes the place of, and another image takes that of none', async () => {
    const said = /takes the place of the version that the community has/
    await open([
      EVERY[1] as CustomImage,
      madeOwnImage({ id: 'im-000009', name: 'next', version_of: 'im-whisper' }),
    ])
    await choose('next', 'Publish')
    expect(await screen.findByText(said)).toBeTruthy()
    await userEvent.keyboard('{Escape}')
    await choose('vllm-awq', 'Publish')
    expect(await screen.findByText(/^We read it/)).toBeTruthy()
    expect(screen.queryByText(said)).toBeNull()
  })

  test('[R4.8] a new version is of what the community has', async () => {
    await open()
    const items = await menuOf('vllm-awq')
    expect(items.some(({ textContent }) => textContent?.startsWith('New version'))).toBe(false)
  })
})
