import { PORTS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { portsFromText } from '../ui/ports-text.ts'
import { Fold } from './Fold.tsx'
import { useDirectPorts } from './use-direct-ports.ts'

const PORT_FIELDS = ['http_ports', 'tcp_ports', 'udp_ports'] as const

/** Ports as a form holds them: as text. */
export type PortValues = Record<(typeof PORT_FIELDS)[number], string>

interface NetworkFoldProps {
  values: PortValues
  /** What a field of the form needs: its value, its error, how it changes. */
  fieldOf: (path: keyof PortValues) => ReturnType<UseFormReturnType<PortValues>['getInputProps']>
  /** It has an address of its own, at which its ports are reached whatever the installation has. */
  ownAddress?: boolean
  /** What it holds beside ports, in a few words. */
  more?: readonly string[]
  cost?: string | undefined
  /** Fields after those of the ports. */
  children?: ReactNode
}

/** Ports of a machine that are reached from outside. */
export function NetworkFold({
  values,
  fieldOf,
  ownAddress = false,
  more = [],
  cost,
  children,
}: NetworkFoldProps) {
  const { t } = useTranslation('deploy')
  const isReached = useDirectPorts(ownAddress)
  return (
    <Fold
      title={t('network.title')}
      holds={[
        portsText('HTTP', values.http_ports),
        portsText('TCP', values.tcp_ports),
        ...(values.udp_ports.trim() === '' ? [] : [portsText('UDP', values.udp_ports)]),
        ...more,
      ].join(' · ')}
      cost={cost}
      isAtFault={PORT_FIELDS.some(path => fieldOf(path).error)}
    >
      {PORT_FIELDS.map(field => (
        <TextInput
          key={field}
          label={t(`network.${field}`)}
          description={
            isReached || field === 'http_ports'
              ? t('network.ports_note', { count: PORTS_MAX })
              : t('network.no_direct')
          }
          // What stands there already can be taken away.
          disabled={!isReached && field !== 'http_ports' && values[field].trim() === ''}
          placeholder={EXAMPLES[field]}
          autoComplete="off"
          classNames={{ input: 'mono' }}
          {...fieldOf(field)}
        />
      ))}
      {children}
    </Fold>
  )

  /** `HTTP 8080, 3000`, or that there are none. */
  function portsText(protocol: 'HTTP' | 'TCP' | 'UDP', text: string): string {
    const ports = portsFromText(text)
    return ports.length === 0 ? t('network.none', { kind: protocol }) : `${protocol} ${text.trim()}`
  }
}

const EXAMPLES: PortValues = { http_ports: '8888, 8080', tcp_ports: '22', udp_ports: '51820' }
