import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { findHomeImages } from './home-images.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const DISK_MB = 160
const KEPT_FREE_MB = 60

const mounts = await findHomeImages()
const probe = mounts.images
  ? { ok: true as const }
  : { ok: false as const, why: mounts.why, how_to_get_it: 'run the tests as root with loop devices' }

// A disk of the test's own, so that it may be filled.
describeWhere('a disk that gets full', probe, () => {
  describe('a disk that gets full', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-full-'))
    const disk = join(folder, 'disk')
    let engine: Engine
    beforeAll(async () => {
      mkdirSync(disk)
      shell(`mkfs.ext4 -q -F "$1.img" ${DISK_MB}M && mount -o loop "$1.img" "$1"`, disk)
      engine = await createSandboxEngine({
        dataDir: disk,
        log: pino({ level: 'silent' }),
        homes: 'folders',
        keptFreeMb: KEPT_FREE_MB,
      })
    })
    afterAll(async () => {
      await engine?.shutdown()
      shell('umount --lazy "$1"', disk)
      rmSync(folder, { recursive: true, force: true })
    })

    async function start(id: string, diskGb: number) {
      const image = { id: 'host', parts: { sandbox: 'host' } }
      await engine.machines.create(smallMachine(id, image, { disk_gb: diskGb }), never)
      await engine.machines.start(id, never)
    }

    test('ends the machine that takes most of what it was given, says why, and spares the others', async () => {
      await start('modest', 1)
      await start('entitled', 100)
      await start('greedy', 1)
      await text(engine, 'modest', 'head -c 4M /dev/zero > ~/some')
      await text(engine, 'entitled', 'head -c 30M /dev/zero > ~/much')
      await engine.console
        .exec('greedy', ['sh', '-c', 'head -c 200M /dev/zero > ~/all'])
        .catch(() => undefined)
      await eventually(async () =>
        expect(await engine.observation.status('greedy')).toEqual({
          state: 'stopped',
          exit_code: null,
          cause: 'disk_full',
        }),
      )
      for (const id of ['modest', 'entitled']) {
        expect((await engine.observation.status(id)).state).toBe('running')
      }
      // Nothing more begins to write before there is room again.
      await expectCode(engine.machines.start('greedy', never), 'no_room')
      await engine.machines.remove('greedy', never)
      await start('greedy', 1)
      expect((await engine.observation.status('modest')).state).toBe('running')
    })
  })
})

function shell(line: string, ...args: string[]): void {
  const path = `${process.env.PATH}:/usr/sbin:/sbin`
  execFileSync('sh', ['-c', line, 'sh', ...args], { env: { ...process.env, PATH: path } })
}
