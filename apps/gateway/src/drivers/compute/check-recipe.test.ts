import { expect, test } from 'vitest'
import { checkRecipeParts } from './check-recipe.ts'

test('a recipe’s parts are checked each by its driver', () => {
  expect(checkRecipeParts({ docker: 'quay.io/jupyter/scipy-notebook:latest', sandbox: 'host' })).toEqual([])
  expect(checkRecipeParts({})).toEqual([])
  expect(checkRecipeParts({ qemu: { file: '/srv/debian.qcow2', kernel: { file: '/srv/vmlinuz' } } })).toEqual(
    [],
  )
  const wrong = checkRecipeParts({
    docker: 'two words',
    qemu: { url: 'https://cloud.example/debian.qcow2' },
    sandbox: 'guest',
    podman: 'debian:12',
  })
  expect(wrong.map(({ part }) => part)).toEqual(['docker', 'qemu', 'sandbox', 'podman'])
  for (const { why } of wrong) expect(why).toMatch(/\w/)
})

test('nobody’s catalogue names an image that was made from a machine', () => {
  expect(checkRecipeParts({ docker: { own: 'img-1' } })).toMatchObject([{ part: 'docker' }])
})
