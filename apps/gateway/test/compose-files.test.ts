import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

// Goal: what is put up as shipped lets in nobody but as the guide says (docs/operating.md, "In containers"), also where no
// engine is there to put it up. Method: the files themselves.

const read = (path: string) => readFileSync(resolve(import.meta.dirname, '../../..', path), 'utf8')

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
