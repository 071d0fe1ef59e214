import type { Image } from '@berth/contract/images'
import type { CommandEndRule } from '@berth/contract/instances'
import { PORTS_MAX, START_COMMAND_CHARS_MAX } from '@berth/contract/limits'
import { centsFromText } from '@berth/contract/money'
import type { PublicIpType } from '@berth/contract/public-ip'
import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { portsFromText } from '../../ui/ports-text.ts'
import { StopRuleFields } from '../../ui/StopRuleFields.tsx'
import type { StopRuleValues } from '../../ui/stop-rules.ts'
import { AccessFold } from './AccessFold.tsx'
import { CommandEndField } from './CommandEndField.tsx'
import { EnvField } from './env/EnvField.tsx'
import { type EnvRow, filledRows, isSecret } from './env/env-rows.ts'
import fold from './Fold.module.css'
import { Fold } from './Fold.tsx'
import { AddressChoice } from './public-ip/AddressChoice.tsx'
import { StorageFold, type StoragePath, type StorageValues } from './StorageFold.tsx'

const PORT_FIELDS = ['http_ports', 'tcp_ports', 'udp_ports'] as const

/** Fields that most leave as they are, as the form holds them. */
export interface FoldValues extends StopRuleValues, StorageValues {
  http_ports: string
  tcp_ports: string
  udp_ports: string
  public_ip: PublicIpType
  start_command: string
  on_command_end: CommandEndRule
  env: EnvRow[]
}

interface DeployFoldsProps {
  values: FoldValues
  /** What is made: datagrams are carried to pods alone, and each kind has disks of its own. */
  kind: Image['kind']
  /** What a field of the form needs: its value, its error, how it changes. */
  fieldOf: (
    path: keyof FoldValues | StoragePath,
  ) => ReturnType<UseFormReturnType<FoldValues>['getInputProps']>
  /** What is wrong at a path of a part of a field. */
  errorAt: (path: string) => ReactNode
  onEnv: (rows: EnvRow[]) => void
  /** Where it is to be made: volumes of that region can be had. */
  region: { code: string; name: string }
  /** The volume that was chosen cannot be had any more. */
  onVolumeGone: () => void
  /** What the disks cost by the hour; unknown until it is priced. */
  diskRate: string | undefined
  /** What an address of its own costs by the hour; undefined where none is chosen, and until it is priced. */
  addressRate: string | undefined
  /** That of the wallet. */
  currency: string
}

/** Disk, ports, command and environment, folded; each fold says what it holds. */
export function DeployFolds({
  values,
  kind,
  fieldOf,
  errorAt,
  onEnv,
  region,
  onVolumeGone,
  diskRate,
  addressRate,
  currency,
}: DeployFoldsProps) {
  const { t } = useTranslation(['explore', 'deploy', 'public-ip'])
  const format = useFormat()
  return (
    <>
      <StorageFold
        values={values}
        fieldOf={fieldOf}
        kind={kind}
        region={region}
        onVolumeGone={onVolumeGone}
        diskRate={diskRate}
      />
      <Fold
        title={t('folds.network')}
        holds={[
          portsText('HTTP', values.http_ports),
          portsText('TCP', values.tcp_ports),
          ...(values.udp_ports.trim() === '' ? [] : [portsText('UDP', values.udp_ports)]),
          ...(values.public_ip === 'dedicated' ? [t('public-ip:choice.dedicated')] : []),
        ].join(' · ')}
        cost={addressRate}
        isAtFault={PORT_FIELDS.some(path => fieldOf(path).error)}
      >
        <TextInput
          label={t('form.http_ports')}
          description={t('form.ports_note', { count: PORTS_MAX })}
          placeholder="8888, 8080"
          autoComplete="off"
          classNames={{ input: 'mono' }}
          {...fieldOf('http_ports')}
        />
        <TextInput
          label={t('form.tcp_ports')}
          description={t('form.ports_note', { count: PORTS_MAX })}
          placeholder="22"
          autoComplete="off"
          classNames={{ input: 'mono' }}
          {...fieldOf('tcp_ports')}
        />
        {kind === 'POD' && (
          <TextInput
            label={t('form.udp_ports')}
            description={t('form.ports_note', { count: PORTS_MAX })}
            placeholder="51820"
            autoComplete="off"
            classNames={{ input: 'mono' }}
            {...fieldOf('udp_ports')}
          />
        )}
        <AddressChoice region={region.code} field={fieldOf('public_ip')} />
      </Fold>
      <AccessFold />
      <Fold title={t('folds.start')} holds={[...commandTexts(), ...variableTexts()].join(' · ')}>
        <TextInput
          className={fold.wide ?? ''}
          label={t('form.start_command')}
          description={t('form.start_command_note')}
          maxLength={START_COMMAND_CHARS_MAX + 1}
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: 'mono' }}
          {...fieldOf('start_command')}
        />
        {values.start_command.trim() !== '' && <CommandEndField field={fieldOf('on_command_end')} />}
        <EnvField rows={values.env} onChange={onEnv} errorAt={errorAt} />
      </Fold>
      <Fold title={t('folds.by_itself')} holds={ruleTexts().join(' · ') || t('folds.never')}>
        <StopRuleFields fieldOf={fieldOf} currency={currency} />
      </Fold>
    </>
  )

  /** When it is stopped by itself, as far as what is typed can be read. */
  function ruleTexts(): string[] {
    const moment = new Date(values.stop_at)
    const cents = centsFromText(values.spend_limit_cents)
    const minutes = Number(values.idle_stop_minutes)
    return [
      ...(Number.isNaN(moment.getTime()) ? [] : [format.moment(moment)]),
      ...(cents === null ? [] : [t('folds.at_cost', { amount: format.cents(cents, currency) })]),
      ...(minutes > 0 ? [t('folds.when_idle', { count: minutes })] : []),
    ]
  }

  /** The command, and what happens when it ends where that is not as usual. */
  function commandTexts(): string[] {
    const command = values.start_command.trim()
    if (command === '') return [t('folds.own_command')]
    const { on_command_end: rule } = values
    return rule === 'keep' ? [command] : [command, t(`folds.then_${rule}`)]
  }

  function variableTexts(): string[] {
    const rows = filledRows(values.env)
    const secrets = rows.filter(isSecret).length
    const count = t('folds.variables', { count: rows.length })
    return secrets === 0 ? [count] : [`${count}, ${t('deploy:env.secrets', { count: secrets })}`]
  }

  /** `HTTP 8080, 3000`, or that there are none. */
  function portsText(kind: 'HTTP' | 'TCP' | 'UDP', text: string): string {
    const ports = portsFromText(text)
    return ports.length === 0 ? t('folds.no_ports', { kind }) : `${kind} ${text.trim()}`
  }
}
