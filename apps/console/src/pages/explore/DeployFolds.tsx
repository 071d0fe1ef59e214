import type { Image } from '@berth/contract/images'
import { centsFromText } from '@berth/contract/money'
import type { PublicIpType } from '@berth/contract/public-ip'
import type { UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { AccessFold } from '../../machine-form/AccessFold.tsx'
import type { EnvRow } from '../../machine-form/env/env-rows.ts'
import { Fold } from '../../machine-form/Fold.tsx'
import { NetworkFold, type PortValues } from '../../machine-form/NetworkFold.tsx'
import { StartFold, type StartValues } from '../../machine-form/StartFold.tsx'
import { useFormat } from '../../ui/format.ts'
import { StopRuleFields } from '../../ui/StopRuleFields.tsx'
import type { StopRuleValues } from '../../ui/stop-rules.ts'
import { AddressChoice } from './public-ip/AddressChoice.tsx'
import { StorageFold, type StoragePath, type StorageValues } from './StorageFold.tsx'

/** Fields that most leave as they are, as the form holds them. */
export interface FoldValues extends StopRuleValues, StorageValues, PortValues, StartValues {
  public_ip: PublicIpType
  /** Null: all of the account. */
  ssh_key_ids: string[] | null
}

interface DeployFoldsProps {
  values: FoldValues
  /** What is made: each kind has disks of its own. */
  kind: Image['kind']
  /** What a field of the form needs: its value, its error, how it changes. */
  fieldOf: (
    path: keyof FoldValues | StoragePath,
  ) => ReturnType<UseFormReturnType<FoldValues>['getInputProps']>
  /** What is wrong at a path of a part of a field. */
  errorAt: (path: string) => ReactNode
  onEnv: (rows: EnvRow[]) => void
  onKeys: (ids: string[] | null) => void
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
  onKeys,
  region,
  onVolumeGone,
  diskRate,
  addressRate,
  currency,
}: DeployFoldsProps) {
  const { t } = useTranslation(['explore', 'public-ip'])
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
      <NetworkFold
        values={values}
        fieldOf={fieldOf}
        ownAddress={values.public_ip === 'dedicated'}
        more={values.public_ip === 'dedicated' ? [t('public-ip:choice.dedicated')] : []}
        cost={addressRate}
      >
        <AddressChoice region={region.code} field={fieldOf('public_ip')} />
      </NetworkFold>
      <AccessFold value={values.ssh_key_ids} onChange={onKeys} error={errorAt('ssh_key_ids')} />
      <StartFold values={values} fieldOf={fieldOf} errorAt={errorAt} onEnv={onEnv} />
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
}
