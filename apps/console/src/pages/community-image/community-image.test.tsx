import { communityImages, communityImagesIn, type Image } from '@berth/contract/images'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeImage, madeSpec } from '../../images/image-fixture.ts'
import { Page } from './CommunityImagePage.tsx'

const IMAGES = [
  madeImage(),
  madeImage({
    id: 'im-000001',
    name: 'vLLM',
    author: 'openserve',
    tags: ['inference'],
    deploys: 6_930,
    stars: 500,
  }),
  madeImage({
    id: 'im-000002',
    name: 'Wan 2.2',
    author: 'longtake',
    tags: ['video'],
    deploys: 1,
    stars: 3,
    min_vram_gb: 48,
    size: 512,
    updated_at: '2026-11-20T10:00:00.000Z',
  }),
]

async function open(images: readonly Image[] | Refusal = IMAGES, at = '', answers: Answers = {}) {
  const { sent } = await answerCalls(
    {
      [communityImages.operation]: () => images,
      [communityImagesIn.operation]: () => images,
      [listGpuSpecs.operation]: () => [madeSpec()],
      [allRegions.operation]: () => [{ code: 'us-west', name: 'us-west', enabled: true }],
      ...answers,
    },
    // Nobody is signed in.
    { user: null },
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['images'], at },
  )
  return { ...page, sent }
}

const names = () => screen.getAllByRole('listitem').map(card => within(card).getByRole('link').textContent)
const cardOf = async (name: string) =>
  (await screen.findByRole('link', { name })).closest('li') as HTMLElement

describe('the community’s images', () => {
  test('[R2.3] [R3.4] a guest sees each with its author, deploys, what it does and needs', async () => {
    await open()
    const card = within(await cardOf('ComfyUI 0.9'))
    for (const said of ['latent-garden', '8,412', 'deploys', 'Node editor for image models.', 'workflow'])
      expect(card.getByText(said)).toBeTruthy()
    expect(card.getByRole('link').getAttribute('href')).toBe('/image-detail?id=im-000000')
    expect(names()).toEqual(['ComfyUI 0.9', 'vLLM', 'Wan 2.2'])
  })

  test('[R3.20] sizes over 1024 MB are said in GB, rounded up', async () => {
    await open()
    expect(within(await cardOf('ComfyUI 0.9')).getByText('24 GB VRAM · 17 GB')).toBeTruthy()
    expect(within(await cardOf('Wan 2.2')).getByText('48 GB VRAM · 512 MB')).toBeTruthy()
  })

  test.each([
    [{}, [madeSpec({ vram_gb: 16 })], 'No GPU here is large enough'],
    [{}, [madeSpec({ available: 0 })], 'All GPUs that fit are in use'],
    [{}, [madeSpec({ available: 1 })], 'Low: 1 that fits'],
    [{ kind: 'VM' }, [madeSpec({ kinds: ['POD'] })], 'No GPU here is large enough'],
    [{ available: false }, [madeSpec()], 'No machine here can run it'],
  ] as const)('what would stop one stands in place of the tags: %j', async (part, specs, said) => {
    await open([madeImage(part)], '', { [listGpuSpecs.operation]: () => specs })
    const card = within(await cardOf('ComfyUI 0.9'))
    expect(await card.findByText(said)).toBeTruthy()
    expect(card.queryByText('workflow')).toBeNull()
  })

  test('are found by name, author, tag and description, ordered and narrowed, all of it in the address', async () => {
    const { search } = await open()
    await cardOf('vLLM')
    await userEvent.type(screen.getByRole('searchbox'), 'openserve')
    expect(names()).toEqual(['vLLM'])
    await waitFor(() => expect(search()).toContain('q=openserve'))
    await userEvent.clear(screen.getByRole('searchbox'))
    await userEvent.selectOptions(screen.getByLabelText('Order'), 'stars')
    await waitFor(() => expect(names()).toEqual(['vLLM', 'ComfyUI 0.9', 'Wan 2.2']))
    await userEvent.selectOptions(screen.getByLabelText('Order'), 'newest')
    await waitFor(() => expect(names()[0]).toBe('Wan 2.2'))
    await userEvent.selectOptions(screen.getByLabelText('GPU memory'), '24')
    await waitFor(() => expect(names()).toEqual(['ComfyUI 0.9', 'vLLM']))
    await userEvent.click(screen.getByRole('radio', { name: 'inference 1' }))
    await waitFor(() => expect(names()).toEqual(['vLLM']))
    for (const part of ['sort=newest', 'vram=24', 'tag=inference']) expect(search()).toContain(part)
  })

  test('the address alone narrows them, and what makes no sense in it shows all', async () => {
    await open(IMAGES, '?tag=video&sort=stars')
    await cardOf('Wan 2.2')
    expect(names()).toEqual(['Wan 2.2'])
    expect((screen.getByRole('radio', { name: 'All 3' }) as HTMLInputElement).checked).toBe(false)
  })

  test('those of one region are asked for by its own call', async () => {
    const { sent } = await open(IMAGES, '?region=us-west&vram=7&sort=sideways')
    await cardOf('Wan 2.2')
    expect(sent.some(({ path }) => path.endsWith('/community_images/us-west'))).toBe(true)
    expect(sent.some(({ operation }) => operation === communityImages.operation)).toBe(false)
  })

  test('of many the first are drawn, and the others when asked for', async () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      madeImage({ id: `im-${index}`, name: `Image ${index}` }),
    )
    await open(many)
    await waitFor(() => expect(screen.getAllByRole('listitem')).toHaveLength(60))
    await userEvent.click(screen.getByRole('button', { name: 'Show more, 90 left' }))
    expect(screen.getAllByRole('listitem')).toHaveLength(120)
  })

  test('none at all, none that matches, and none that could be had are three things', async () => {
    await open([])
    expect(await screen.findByText('No community images yet')).toBeTruthy()
  })

  test('where nothing matches, all come back by a press', async () => {
    await open(IMAGES, '?q=nothing-of-this-name')
    expect(await screen.findByText('No image matches “nothing-of-this-name”')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Show all' }))
    await waitFor(() => expect(names()).toHaveLength(3))
  })

  test('what failed says so and is tried again', async () => {
    let isDown = true
    await open(IMAGES, '', {
      [communityImages.operation]: () => (isDown ? new Refusal([], 'forbidden', 403) : IMAGES),
    })
    expect(await screen.findByText('refused: forbidden')).toBeTruthy()
    isDown = false
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
    expect(await cardOf('vLLM')).toBeTruthy()
  })

  test('[R2.3] a guest’s 401 is said on the page, and leads nowhere', async () => {
    const { path } = await open(new Refusal([], 'login_expired', 401))
    expect(await screen.findByText('refused: login_expired')).toBeTruthy()
    expect(path()).toBe('/page')
  })
})
