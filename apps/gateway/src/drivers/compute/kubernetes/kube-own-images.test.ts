import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { HAS_TOOLS, NOT_ROOT_EXIT_CODE } from './kube-own-images.ts'

const NOBODY = 65_534
const asked = (who: { uid?: number; gid?: number } = {}, path = process.env.PATH) =>
  spawnSync('/bin/sh', ['-c', HAS_TOOLS], { ...who, env: { PATH: path }, stdio: 'ignore' }).status

test('[R4.6] a machine is read by its own GNU tools, as root and as nobody else', ctx => {
  if (process.getuid?.() !== 0) ctx.skip('only root runs programs as somebody else')
  if (spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU') !== true)
    ctx.skip('there is no GNU tar here')
  expect(asked()).toBe(0)
  expect(asked({ uid: NOBODY, gid: NOBODY })).toBe(NOT_ROOT_EXIT_CODE)
  expect(asked({}, '/nowhere')).toBe(1)
})
