import { randomBytes } from 'node:crypto'
import { expect, type TestContext, test } from 'vitest'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, OwnImages, PullProgress } from '../port/images.ts'
import { lackOf, offered } from '../port/part.ts'
import { cutAfter, flipped, gathered, layersIn, pieces } from './archives.ts'
import { expectCode, never, type Subject, text } from './tools.ts'

/** How every driver has images, fetches them, and makes some of machines. */
export function describeImages(
  subject: Subject,
  options: { image: ImageRecipe; missingImage: ImageRecipe | null },
): void {
  const nothing = () => undefined
  const newId = () => `img-${randomBytes(5).toString('hex')}`

  /** Has an image leave and come again, without what the machine was given that it was made of. */
  const movedAway = async (own: OwnImages, image_id: string) => {
    const archive = await gathered(own.save(image_id, never))
    expect(archive.includes('known to the first alone')).toBe(false)
    const moved_id = `${image_id}-moved`
    const moved = await own.load(moved_id, pieces(archive), never)
    const third = await subject.running({ image: moved })
    expect(await text(subject.engine(), third.id, 'cat ~/file')).toBe('kept\n')
    await subject.engine().machines.remove(third.id, never)
    await own.delete(moved_id)
  }

  test('pull is quick where the image is there, and says so where it is not', async () => {
    const { images, machines } = subject.engine()
    await images.pull(options.image, nothing, never)
    expect(await images.has(options.image)).toBe(true)
    expect(images.lackFor(options.image)).toBeNull()
    const { missingImage } = options
    if (missingImage === null) return
    expect(await images.has(missingImage)).toBe(false)
    expect(images.lackFor(missingImage)).toMatch(/^\S.+\.$/)
    await expectCode(images.pull(missingImage, nothing, never), 'image_unavailable')
    const spec = subject.spec({ image: missingImage })
    await expectCode(machines.create(spec, never), 'image_unavailable')
  })

  test('an image of a machine is made once, listed, and gone when it is deleted', async ctx => {
    const { images, machines } = subject.engine()
    const why = lackOf(images.own)
    if (why !== null) return ctx.skip(why)
    const own = offered(images.own)
    const image_id = newId()
    await expectCode(own.build({ machine_id: subject.spec().id, image_id }, nothing, never), 'not_found')
    await expectCode(own.build({ machine_id: 'x', image_id: '../up' }, nothing, never), 'unsupported')
    const spec = subject.spec()
    await machines.create(spec, never)
    const what = { machine_id: spec.id, image_id }
    await expectCode(own.build(what, nothing, AbortSignal.abort(new Error('given up'))), 'failed')
    const progress: number[] = []
    const recipe = await built(ctx, own, what, ({ bytes_done }) => progress.push(bytes_done))
    expect(progress.length).toBeGreaterThan(0)
    expect(await own.build(what, nothing, never)).toEqual(recipe)
    // It is kept as a row of a database would keep it.
    const kept = JSON.parse(JSON.stringify(recipe)) as ImageRecipe
    expect(await images.has(kept)).toBe(true)
    await images.pull(kept, nothing, never)
    expect((await own.list()).map(({ id }) => id)).toContain(image_id)

    const second = subject.spec({ image: kept })
    await machines.create(second, never)
    await expectCode(own.delete(image_id), 'failed')
    await machines.remove(second.id, never)
    await own.delete(image_id)
    await own.delete(image_id)
    expect((await own.list()).map(({ id }) => id)).not.toContain(image_id)
    expect(await machines.list()).toContainEqual({ id: spec.id, state: 'created' })
  })

  test('[R4.6] an image leaves as an OCI layout, and comes again under another id', async ctx => {
    const { images, machines } = subject.engine()
    const why = lackOf(images.own)
    if (why !== null) return ctx.skip(why)
    const own = offered(images.own)
    const [first, second] = [newId(), newId()]
    await expectCode(gathered(own.save(newId(), never)), 'not_found')
    await expectCode(gathered(own.save('../up', never)), 'unsupported')
    const spec = subject.spec()
    await machines.create(spec, never)
    await built(ctx, own, { machine_id: spec.id, image_id: first })
    const archive = await gathered(own.save(first, never))
    // Whatever a layer is made of, it is the same one each time: what two images share is kept once.
    expect(await layersIn(await gathered(own.save(first, never)))).toEqual(await layersIn(archive))
    await expectCode(gathered(own.save(first, AbortSignal.abort(new Error('given up')))), 'failed')

    await expectCode(own.load('../up', pieces(archive), never), 'unsupported')
    const given = own.load(second, pieces(archive), AbortSignal.abort(new Error('given up')))
    await expectCode(given, 'failed')
    const recipe = await own.load(second, pieces(archive), never)
    // Nothing is read of an image that is here.
    expect(await own.load(second, pieces(Buffer.from('no archive')), never)).toEqual(recipe)
    const kept = JSON.parse(JSON.stringify(recipe)) as ImageRecipe
    expect(await images.has(kept)).toBe(true)
    expect(await layersIn(await gathered(own.save(second, never)))).toEqual(await layersIn(archive))
    const listed = (await own.list()).find(({ id }) => id === second)
    expect(listed?.size_bytes).toBeGreaterThan(0)
    const made = subject.spec({ image: kept })
    await machines.create(made, never)
    await expectCode(own.delete(second), 'failed')
    await machines.remove(made.id, never)
    await own.delete(first)
    expect(await images.has(kept)).toBe(true)
    await own.delete(second)
  })

  test('an archive that is cut, that lies or that is none leaves nothing, and the next one does', async ctx => {
    const { images, machines } = subject.engine()
    const why = lackOf(images.own)
    if (why !== null) return ctx.skip(why)
    const own = offered(images.own)
    const [first, second] = [newId(), newId()]
    const spec = subject.spec()
    await machines.create(spec, never)
    await built(ctx, own, { machine_id: spec.id, image_id: first })
    const archive = await gathered(own.save(first, never))
    await own.delete(first)
    const before = await own.list()
    const load = (bytes: AsyncIterable<Uint8Array>) => own.load(second, bytes, never)
    for (const share of [0, 0.1, 0.5, 0.9]) {
      await expectCode(load(pieces(cutAfter(archive, share))), 'image_damaged')
    }
    await expectCode(load(pieces(await flipped(archive))), 'image_damaged')
    await expectCode(load(pieces(Buffer.alloc(4_096, 'no archive'))), 'image_unfit')
    const broken = (async function* () {
      yield archive.subarray(0, archive.length / 2)
      throw new Error('the line broke')
    })()
    await expect(load(broken)).rejects.toThrow('the line broke')
    expect(await own.list()).toEqual(before)
    const [recipe, again] = await Promise.all([load(pieces(archive)), load(pieces(archive))])
    expect(again).toEqual(recipe)
    await own.delete(second)
    expect(await own.list()).toEqual(before)
  })

  subject.inside('a machine made from another’s image has its files, and nothing else of it', async ctx => {
    const engine = subject.engine()
    const why = lackOf(engine.images.own)
    if (why !== null) return ctx.skip(why)
    const own = offered(engine.images.own)
    const first = await subject.running({
      env: { SECRET: 'known to the first alone' },
      command: ['sh', '-c', 'echo started >> ~/starts'],
    })
    await text(engine, first.id, 'until [ -e ~/starts ]; do sleep 0.05; done; echo kept > ~/file')
    const image_id = newId()
    const image = await built(ctx, own, { machine_id: first.id, image_id })
    expect(await text(engine, first.id, 'echo still up')).toBe('still up\n')
    await engine.machines.remove(first.id, never)
    expect(await engine.images.has(image)).toBe(true)

    await movedAway(own, image_id)
    const second = await subject.running({ image, env: { GIVEN: 'to the second' } })
    const seen = await text(
      engine,
      second.id,
      'cat ~/file ~/starts; cat /proc/1/environ | tr "\\0" "\\n"; env',
    )
    expect(seen).toContain('kept\nstarted\n')
    expect(seen.match(/started/g)).toHaveLength(1)
    expect(seen).toContain('GIVEN=to the second')
    expect(seen).not.toContain('SECRET')
    // Changed and made anew, it is still a machine of its own.
    await engine.machines.stop(second.id, never)
    await engine.machines.create({ ...second, env: { GIVEN: 'again' } }, never)
    await engine.machines.start(second.id, never)
    expect(await text(engine, second.id, 'cat ~/file; echo $GIVEN')).toBe('kept\nagain\n')
    await engine.machines.remove(second.id, never)
    await own.delete(image_id)
    expect(await engine.images.has(image)).toBe(false)
    await expectCode(engine.images.pull(image, nothing, never), 'image_unavailable')
  })
}

/** Makes an image where one can be made of this machine; else the test is skipped, with the driver's own words. */
async function built(
  ctx: TestContext,
  own: OwnImages,
  what: Parameters<OwnImages['build']>[0],
  onProgress: (progress: PullProgress) => void = () => undefined,
): Promise<ImageRecipe> {
  try {
    return await own.build(what, onProgress, never)
  } catch (error) {
    if (error instanceof ComputeError && error.code === 'unsupported') ctx.skip(error.message)
    throw error
  }
}
