import { getSettings } from '@berth/contract/account'
import { getImage, type ImageDetail } from '@berth/contract/images'
import { getPrice } from '@berth/contract/instances'
import { reportImage, starImage, unstarImage } from '@berth/contract/own-images'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, customer, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeDetail, madeOwnImage, madeSpec } from '../../images/image-fixture.ts'
import { sampleOf } from '../../schema-fixture.ts'
import { giveWorkers } from '../../worker-fixture.ts'
import { Page } from './ImageDetailPage.tsx'

const PRICE = {
  ...(sampleOf(getPrice.data) as object),
  currency: 'USD',
  running_micro_per_hour: '422800',
  stopped_micro_per_day: '67200',
  traffic_micro_per_gb: '0',
}

async function open(image: ImageDetail | Refusal, options: { guest?: boolean; answers?: Answers } = {}) {
  await giveWorkers('ui/markdown/markdown-worker.ts')
  const { sent } = await answerCalls(
    {
      [getImage.operation]: () => image,
      [listGpuSpecs.operation]: () => [
        madeSpec({ id: 'l4', name: 'L4', price_micro_per_hour: '392800', available: 0 }),
        madeSpec(),
        madeSpec({ id: 'a100', name: 'A100', vram_gb: 80, price_micro_per_hour: '1190000' }),
        madeSpec({ id: 'small', name: 'T4', vram_gb: 16, price_micro_per_hour: '100000' }),
      ],
      [getPrice.operation]: () => PRICE,
      [allRegions.operation]: () => [{ code: 'us-west', name: 'West', enabled: true }],
      ...options.answers,
    },
    { user: options.guest ? null : customer() },
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['images'], at: '?id=im-000000' },
  )
  return {
    ...page,
    of: (call: { operation: string }) => sent.filter(one => one.operation === call.operation),
  }
}

const lineOf = async (name: string) => (await screen.findByText(name)).parentElement?.textContent

describe('the page of an image', () => {
  test('says whose it is, what it needs, and what the machine costs that it runs on', async () => {
    await open(madeDetail({ min_disk_gb: 40, region_code: 'us-west' }))
    expect(await screen.findByRole('heading', { level: 1, name: 'ComfyUI 0.9' })).toBeTruthy()
    expect(screen.getByText(/^by latent-garden · 8,412 deploys · updated 12 Nov 2026/)).toBeTruthy()
    // The cheapest that is free, not the cheapest of all, nor one that is too small.
    expect(await screen.findByRole('heading', { name: '1× RTX 4090' })).toBeTruthy()
    expect(await screen.findByText('Available in West')).toBeTruthy()
    expect(await screen.findByText('$0.4228 /h')).toBeTruthy()
    expect(screen.getByText('or A100 at $1.1900 /h')).toBeTruthy()
    expect(await lineOf('A day running')).toContain('$10.1472 /day')
    expect(await lineOf('A day stopped, disk 40 GB')).toContain('$0.0672 /day')
    expect(await lineOf('Needs')).toContain('24 GB VRAM, 40 GB disk')
    expect(await lineOf('Ports')).toContain('8188 http, 22 tcp')
    expect(await lineOf('Size')).toContain('17 GB')
    expect(await lineOf('Region')).toBe('RegionWest')
    expect(screen.getByRole('link', { name: 'Deploy this image' }).getAttribute('href')).toBe(
      '/explore?image_id=im-000000&spec=rtx-4090',
    )
  })

  test('[R2.3] [R2.6] a guest sees it all, and logs in to deploy, with the way back to the form', async () => {
    const { of } = await open(madeDetail(), { guest: true })
    expect(await screen.findByText('$0.4200 /h')).toBeTruthy()
    expect(of(getPrice)).toEqual([])
    expect(screen.getByRole('link', { name: 'Log in to deploy' }).getAttribute('href')).toBe(
      '/auth?mode=login&redirect=%2Fexplore%3Fimage_id%3Dim-000000%26spec%3Drtx-4090',
    )
    expect(screen.getByRole('link', { name: 'Star, 214' }).getAttribute('href')).toMatch(
      /^\/auth\?mode=login/,
    )
  })

  test('a star is given and taken back', async () => {
    let image = madeDetail()
    const star = (starred: boolean, stars: number) => () => {
      image = { ...image, starred, stars }
      return { id: image.id, starred, stars }
    }
    await open(image, {
      answers: {
        [getImage.operation]: () => image,
        [starImage.operation]: star(true, 215),
        [unstarImage.operation]: star(false, 214),
      },
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Star, 214' }))
    const given = await screen.findByRole('button', { name: 'Star, 215' })
    expect(given.getAttribute('aria-pressed')).toBe('true')
    await userEvent.click(given)
    expect((await screen.findByRole('button', { name: 'Star, 214' })).getAttribute('aria-pressed')).toBe(
      'false',
    )
  })

  test('[R6.5] what is wrong with it is told to the operator, and a refusal keeps the words', async () => {
    let refusals = 1
    const { of } = await open(madeDetail({ custom_image_id: null }), {
      answers: {
        [reportImage.operation]: () =>
          refusals-- > 0
            ? new Refusal([], 'image_report_limit', 409)
            : { id: 'im-000000', reported_at: '2026-11-24T10:00:00.000Z' },
      },
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Report' }))
    const send = await screen.findByRole('button', { name: 'Send the report' })
    await userEvent.click(send)
    const words = screen.getByRole('textbox', { name: 'What did you see?' })
    await waitFor(() => expect(words.getAttribute('aria-invalid')).toBe('true'))
    expect(of(reportImage)).toEqual([])
    await userEvent.selectOptions(
      screen.getByRole('combobox', { name: 'What is wrong?' }),
      'It does not work',
    )
    await userEvent.type(words, 'It ends at once.')
    await userEvent.click(send)
    expect(await screen.findByRole('alert')).toBeTruthy()
    expect((words as HTMLTextAreaElement).value).toBe('It ends at once.')
    await userEvent.click(send)
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    expect(of(reportImage).at(-1)).toMatchObject({ body: { kind: 'broken', text: 'It ends at once.' } })
  })

  test('nobody reports what is their own', async () => {
    await open(madeDetail({ custom_image_id: 'im-111111' }))
    expect(await screen.findByRole('button', { name: 'Star, 214' })).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Report' })).toBeNull()
  })

  test('its README, versions, start command and models are read one at a time, by keyboard too', async () => {
    const version = {
      number: 2,
      version_info: 'torch 2.9',
      size: 16_700,
      created_at: '2026-11-12T10:00:00.000Z',
    }
    const { search } = await open(
      madeDetail({ versions: [version], start_command: 'python main.py', preloaded_models: '' }),
    )
    expect(await screen.findByRole('heading', { level: 2, name: 'What it is' })).toBeTruthy()
    screen.getByRole('tab', { name: 'README' }).focus()
    await userEvent.keyboard('{ArrowRight}')
    const versions = screen.getByRole('tab', { name: /^Versions/ })
    await waitFor(() => expect(versions.getAttribute('aria-selected')).toBe('true'))
    expect(document.activeElement).toBe(versions)
    expect(search()).toContain('tab=versions')
    expect(screen.getByRole('tabpanel').textContent).toContain('torch 2.9')
    await userEvent.click(screen.getByRole('tab', { name: 'Start command' }))
    expect(await screen.findByText('python main.py')).toBeTruthy()
    await userEvent.click(screen.getByRole('tab', { name: 'Preloaded models' }))
    expect(await screen.findByText('Its author names none.')).toBeTruthy()
  })

  test('[R1.10] the brand’s place of images is led to where it has one', async () => {
    const settings = sampleOf(getSettings.data) as { brand: object }
    const brand = { ...settings.brand, image_storage_url: 'https://images.north.example/' }
    await open(madeDetail(), { answers: { [getSettings.operation]: () => ({ ...settings, brand }) } })
    const link = await screen.findByRole('link', { name: 'Where images are kept' })
    expect(link.getAttribute('href')).toBe('https://images.north.example/')
  })

  test('where nothing can run it, it says so and offers no deploy', async () => {
    await open(madeDetail({ available: false }))
    expect(await screen.findByText('No machine here can run it')).toBeTruthy()
    expect(screen.queryByRole('link', { name: 'Deploy this image' })).toBeNull()
  })

  test.each([
    ['failed', 'Nothing of it was kept.'],
    ['building', 'It is still being made.'],
  ] as const)('[R4.8] one’s own that is %s offers no deploy, and says why', async (status, said) => {
    await open(madeDetail({ type: 'Custom', size: 0, own: madeOwnImage({ status }) }))
    expect(await screen.findByText(said)).toBeTruthy()
    expect(screen.queryByRole('link', { name: 'Deploy this image' })).toBeNull()
    expect(await lineOf('Size')).toBe('Size–')
  })

  test('one that is not there leads back to the community', async () => {
    await open(new Refusal([], 'not_found', 404))
    expect(await screen.findByText('There is no such image')).toBeTruthy()
    expect(screen.getByRole('link', { name: 'To the community images' }).getAttribute('href')).toBe(
      '/community-image',
    )
  })
})
