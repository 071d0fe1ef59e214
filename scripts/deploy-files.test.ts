import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { SETTINGS } from '../apps/gateway/src/platform/config/settings.ts'
import { gatewayFlags } from './lib/gateway-build.mjs'
import { pinnedNode, root } from './lib/paths.mjs'

/** As systemd counts it, of 10: what a service that is held to nothing has is 9.6. */
const EXPOSURE_MAX = 3
/** Names of `deploy/.env.example` that Compose, and no gateway, reads. */
const OF_COMPOSE =
  /^(COMPOSE_|DOCKER_|GATEWAY_IMAGE|POSTGRES_IMAGE|CADDY_IMAGE|HTTPS?_PORT|(WILDCARD_)?TLS$|\w+_DIR$)/

const read = (path: string) => readFileSync(join(root, path), 'utf8')

describe('what runs a gateway', () => {
  test.each(['deploy/image/Dockerfile', 'deploy/systemd/berth.service'])(
    '%s has the flags of npm start',
    path => {
      const flags = [...read(path).matchAll(/--[a-z-]+=\d+/g)].map(([flag]) => flag)
      expect(flags.filter(flag => !flag.startsWith('--interval'))).toEqual(
        expect.arrayContaining([...gatewayFlags]),
      )
    },
  )

  test('the unit is one that systemd takes, and lets the gateway do little', context => {
    const version = tryRun('systemd-analyze', ['--version'])
    if (version === null) return context.skip('there is no systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'berth-unit-'))
    try {
      const file = join(folder, 'berth.service')
      writeFileSync(
        file,
        read('deploy/systemd/berth.service').replaceAll(/\/opt\/berth\/node_modules\S+node\b/g, pinnedNode),
      )
      expect(tryRun('systemd-analyze', ['verify', '--man=no', file])).toBe('')
      const offline = ['security', '--offline=true', '--json=short', `--threshold=${EXPOSURE_MAX * 10}`, file]
      expect(tryRun('systemd-analyze', offline), 'it may do more than it needs').not.toBeNull()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('the settings in its example are settings', () => {
    const names = [...read('deploy/.env.example').matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(
      ([, name = '']) => name,
    )
    const unknown = names.filter(name => !OF_COMPOSE.test(name) && !(name.replace(/_FILE$/, '') in SETTINGS))
    expect(unknown).toEqual([])
  })

  test('each variable of the compose files has a value there, or is in the example', () => {
    const files = read('deploy/compose.yaml') + read('deploy/compose.docker.yaml')
    const example = read('deploy/.env.example')
    const open = [...files.matchAll(/\$\{(\w+)(:[-?])?/g)]
      .filter(([, , how]) => how !== ':-')
      .map(([, name = '']) => name)
    expect(open.filter(name => !new RegExp(`^#?${name}=`, 'm').test(example))).toEqual([])
  })
})

/** What Compose would run, as far as these tests ask. */
interface Service {
  network_mode?: string
  ports?: unknown
  environment?: Record<string, unknown>
  volumes?: string[]
  cap_drop?: string[]
  cap_add?: string[]
  privileged?: boolean
  read_only?: boolean
  security_opt?: string[]
}
const servicesOf = (path: string): Record<string, Service> => parse(read(path)).services

describe('the compose file lets in nobody but through the proxy', () => {
  const { gateway, postgres, proxy } = servicesOf('deploy/compose.yaml')

  test('the gateway listens on loopback behind it, and believes no other', () => {
    expect(gateway?.environment).toMatchObject({
      BERTH_HOST: '127.0.0.1',
      BERTH_TRUSTED_PROXIES: '127.0.0.1',
    })
    // Metrics and probes stay where the console is, on loopback.
    expect(Object.keys(gateway?.environment ?? {})).not.toContain('BERTH_MANAGEMENT_HOST')
  })

  test('the database is on no network, and its socket is in a volume of two containers', () => {
    expect(postgres).toMatchObject({ network_mode: 'none' })
    expect(postgres).not.toHaveProperty('ports')
    const having = Object.entries({ gateway, postgres, proxy }).filter(([, service]) =>
      service?.volumes?.some(volume => volume.startsWith('postgres-socket:')),
    )
    expect(having.map(([name]) => name)).toEqual(['gateway', 'postgres'])
  })

  test('nobody has the socket of Docker who did not name the file that gives it', () => {
    expect(read('deploy/compose.yaml')).not.toMatch(/docker\.sock/)
    expect(Object.keys(servicesOf('deploy/compose.docker.yaml'))).toEqual(['gateway'])
  })

  test('what strangers reach has no rights that it does not need', () => {
    for (const service of [gateway, proxy]) {
      expect(service).toMatchObject({
        ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      })
      expect(service).not.toHaveProperty('privileged')
    }
    expect(gateway).not.toHaveProperty('cap_add')
    expect(proxy?.cap_add).toEqual(['NET_BIND_SERVICE'])
  })

  test('plain HTTP leads to TLS and nowhere else, and every other site has TLS', () => {
    const sites = read('deploy/caddy/Caddyfile')
      .split(/\n(?=\S)/)
      .map(part => part.trimEnd())
      .filter(part => part.includes('{') && !/^(\{\n|\(|#)/.test(part))
    const plain = sites.filter(site => site.startsWith('http://'))
    expect(plain).toHaveLength(1)
    expect(plain[0]).toMatch(/^http:\/\/ \{\n\tredir https:\/\/\{host\}\S* 308$/)
    for (const site of sites.filter(one => !plain.includes(one))) expect(site).toMatch(/\n\ttls \{\$/)
    expect(sites).toHaveLength(4)
  })

  test.each(['deploy/caddy/Caddyfile', 'deploy/nginx/berth-pass.conf'])(
    '%s passes on no trace that a stranger names',
    path => {
      expect(read(path)).toMatch(/header_up -Traceparent|proxy_set_header Traceparent '';/)
    },
  )
})

/** @returns What it wrote, to either stream; null where it failed or is not here. */
function tryRun(file: string, words: string[]): string | null {
  try {
    return execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch {
    return null
  }
}
