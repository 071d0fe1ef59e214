import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ImageRecipe } from '../port/images.ts'
import { lackOf, offered } from '../port/part.ts'
import { expectCode, never, type Subject, text } from './tools.ts'

/** How every driver has images, fetches them, and makes some of machines. */
export function describeImages(
  subject: Subject,
  options: { image: ImageRecipe; missingImage: ImageRecipe | null },
): void {
  const nothing = () => undefined
  const newId = () => `img-${randomBytes(5).toString('hex')}`

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
    const recipe = await own.build(what, ({ bytes_done }) => progress.push(bytes_done), never)
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

  subject.inside('a machine made from another’s image has its files, and nothing else of it', async ctx => {
    const engine = subject.engine()
    const why = lackOf(engine.images.own)
    if (why !== null) return ctx.skip(why)
    const own = offered(engine.images.own)
    const first = await subject.running({
      env: { SECRET: 'of the first' },
      command: ['sh', '-c', 'echo started >> ~/starts'],
    })
    await text(engine, first.id, 'until [ -e ~/starts ]; do sleep 0.05; done; echo kept > ~/file')
    const image_id = newId()
    const image = await own.build({ machine_id: first.id, image_id }, nothing, never)
    expect(await text(engine, first.id, 'echo still up')).toBe('still up\n')
    await engine.machines.remove(first.id, never)
    expect(await engine.images.has(image)).toBe(true)

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
