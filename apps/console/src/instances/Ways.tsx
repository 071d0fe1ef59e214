import type { Connection } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useDirectPorts } from '../machine-form/use-direct-ports.ts'
import { CopyText } from '../ui/CopyText.tsx'
import { GuestPart } from './GuestPart.tsx'
import { SshPart } from './SshPart.tsx'
import { TerminalPart } from './TerminalPart.tsx'
import classes from './Ways.module.css'

interface WaysProps {
  connection: Connection
  /** It has an address that no other instance has. */
  ownAddress: boolean
}

/** The ways into a running instance, each with what is copied or opened (R2.23). */
export function Ways({ connection, ownAddress }: WaysProps) {
  const { t } = useTranslation('instances')
  const isReached = useDirectPorts(ownAddress)
  const { instance_id, http, terminal, ssh, tcp, udp, guest } = connection
  return (
    <div className={classes.ways}>
      <Part title={t('connect.http')}>
        {http.length === 0 && <p className={classes.none}>{t('connect.no_http')}</p>}
        {http.map(service => (
          <HttpService key={service.port} service={service} />
        ))}
      </Part>
      <Part title={t('connect.terminal')}>
        <TerminalPart instanceId={instance_id} running={terminal.running} />
      </Part>
      <Part title={t('connect.ssh')}>
        {ssh ? <SshPart ssh={ssh} /> : <p className={classes.none}>{t('connect.no_ssh')}</p>}
      </Part>
      <Part title={t('connect.tcp')}>
        <DirectPorts ports={tcp} none={t(isReached ? 'connect.no_tcp' : 'connect.no_direct')} />
      </Part>
      <Part title={t('connect.udp')}>
        <DirectPorts ports={udp} none={t(isReached ? 'connect.no_udp' : 'connect.no_direct')} />
      </Part>
      {guest && (
        <Part title={t('connect.guest')}>
          <GuestPart guest={guest} />
        </Part>
      )}
    </div>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={classes.part}>
      <h3>{title}</h3>
      <div className={classes.content}>{children}</div>
    </section>
  )
}

function HttpService({ service }: { service: Connection['http'][number] }) {
  const { t } = useTranslation('instances')
  const { port, url, listening } = service
  const state = listening === null ? 'unknown' : listening ? 'yes' : 'no'
  return (
    <div className={classes.row}>
      <div>
        <span className={classes.port}>{t('connect.port', { port })}</span>
        <span className={classes.listening} data-state={state}>
          {t(`connect.listening.${state}`)}
        </span>
      </div>
      <div className={classes.address}>
        <CopyText mono value={url} label={t('connect.address', { port })} />
      </div>
      <Button
        component="a"
        size="xs"
        variant="default"
        href={url}
        target="_blank"
        rel="noopener noreferrer"
        aria-label={t('connect.open_port', { port })}
        rightSection={<IconExternalLink size={14} stroke={1.6} />}
      >
        {t('connect.open')}
      </Button>
    </div>
  )
}

function DirectPorts({ ports, none }: { ports: Connection['tcp']; none: string }) {
  const { t } = useTranslation('instances')
  if (ports.length === 0) return <p className={classes.none}>{none}</p>
  return ports.map(({ port, host, public_port, trouble }) => (
    <div key={port} className={classes.row}>
      <div>
        <span className={classes.port}>{t('connect.port', { port })}</span>
        {trouble && <span className={classes.trouble}>{t(`connect.trouble.${trouble}`)}</span>}
      </div>
      <div className={classes.address}>
        <CopyText mono value={hostAndPort(host, public_port)} label={t('connect.address', { port })} />
      </div>
    </div>
  ))
}

/** An IPv6 address stands in brackets before a port. */
function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
