import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../../scripts/test/free-port.ts'
import { eventually } from '../../src/drivers/compute/conformance/tools.ts'

/** Where a request is held: before the registry sees it, or when it has answered and nobody has heard that. */
type Held = 'asked' | 'answered'

/** A real registry, behind something that holds requests up. */
export interface HeldRegistry {
  /** A repository in it, as the setting of the store of images names one. */
  repository: string
  /** Holds requests up until `letGo`. @returns Resolves when the first one is held. */
  hold(at: Held, is: (request: IncomingMessage) => boolean): Promise<void>
  /** Drops what is held, and holds no more. */
  letGo(): void
  /** The images that it keeps, by their tags. */
  images(): Promise<string[]>
  close(): Promise<void>
}

/** Starts a registry that lets its images be deleted, with one repository. */
export async function startHeldRegistry(): Promise<HeldRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-held-registry-'))
  const port = await freePort()
  // JSON is YAML.
  const storage = { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } }
  const http = { addr: `127.0.0.1:${port}`, relativeurls: true }
  writeFileSync(join(folder, 'config.yml'), JSON.stringify({ version: 0.1, storage, http }))
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' })
  const direct = `http://127.0.0.1:${port}/v2/berth/images`
  await eventually(async () => void (await fetch(`http://127.0.0.1:${port}/v2/`)))

  let holding: { at: Held; is: (request: IncomingMessage) => boolean; held: () => void } | null = null
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    const holds = holding?.is(request) === true ? holding : null
    if (holds?.at === 'asked') return holds.held()
    const onward = httpRequest({ port, host: '127.0.0.1', method, path: url, headers }, answer => {
      if (holds) return void answer.resume().once('end', holds.held)
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('error', () => onward.destroy())
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo

  return {
    repository: `http://127.0.0.1:${own}/berth/images`,
    hold(at, is) {
      const first = Promise.withResolvers<void>()
      holding = { at, is, held: first.resolve }
      return first.promise
    },
    letGo() {
      holding = null
      server.closeAllConnections()
    },
    async images() {
      const answer = await fetch(`${direct}/tags/list`)
      if (answer.status === 404) return []
      const { tags } = (await answer.json()) as { tags: string[] | null }
      const found: string[] = []
      for (const tag of tags ?? []) {
        const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' }
        const { ok } = await fetch(`${direct}/manifests/${tag}`, { method: 'HEAD', headers })
        if (ok) found.push(tag)
      }
      return found
    },
    async close() {
      server.closeAllConnections()
      server.close()
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
