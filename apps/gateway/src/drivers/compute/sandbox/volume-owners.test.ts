import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { MACHINES, USERS_EACH } from './machine-users.ts'
import { giveVolume } from './volume-owners.ts'

const isRoot = process.getuid?.() === 0
if (!isRoot) process.stdout.write('SKIP a volume given away: only root may give it to users\n')

let folder = ''
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!isRoot)('a volume that is given away', () => {
  test('[R2.25] [R3.11] is given whole while files and folders come and go in it, as by S3', async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-given-'))
    const kept = Array.from({ length: 200 }, (_, index) => join(folder, `kept-${index}`))
    for (const path of kept) writeFileSync(path, '')
    const come = (index: number) => {
      mkdirSync(join(folder, `folder-${index}`))
      writeFileSync(join(folder, `folder-${index}`, 'file'), '')
    }
    const go = (index: number) => {
      unlinkSync(join(folder, `folder-${index}`, 'file'))
      rmdirSync(join(folder, `folder-${index}`))
    }
    const all = Array.from({ length: 400 }, (_, index) => index)
    for (const index of all) come(index)
    let isOver = false
    const busy = (async () => {
      while (!isOver) {
        for (const index of all) {
          go(index)
          come(index)
          if (index % 20 === 0) await new Promise(setImmediate)
        }
      }
    })()
    const owners = Array.from({ length: 10 }, (_, index) => MACHINES.first + (index % 2) * USERS_EACH)
    try {
      for (const owner of owners) await giveVolume(folder, owner, null)
    } finally {
      isOver = true
      await busy
    }
    const last = owners.at(-1)
    expect(new Set(kept.map(path => statSync(path).uid))).toEqual(new Set([last]))
    expect(readdirSync(folder)).toHaveLength(kept.length + all.length)
  })
})
