import type { Image } from '@berth/contract/images'
import {
  DATA_DISK_PATH,
  POD_VOLUME_PATH,
  SYSTEM_DISK_FREE_GB,
  VOLUME_PATH_CHARS_MAX,
} from '@berth/contract/limits'
import { NumberInput, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { Fold } from '../../machine-form/Fold.tsx'
import { useVolumesIn, VolumeFields, type VolumeValues } from './VolumeFields.tsx'

/** Disks as the form holds them: an empty size is none. */
export interface StorageValues {
  container_disk_gb: number | string
  data_disk_gb: number | string
  pod_volume_gb: number | string
  pod_volume_path: string
  network_volume: VolumeValues
}

/** No disk beside the one that the machine starts from. */
export const NO_OWN_DISK = { data_disk_gb: '', pod_volume_gb: '', pod_volume_path: POD_VOLUME_PATH }

export type StoragePath =
  | Exclude<keyof StorageValues, 'network_volume'>
  | 'network_volume.id'
  | 'network_volume.path'

interface StorageFoldProps {
  values: StorageValues
  /** What a field of the form needs: its value, its error, how it changes. */
  fieldOf: (path: StoragePath) => ReturnType<UseFormReturnType<StorageValues>['getInputProps']>
  /** What is made: each kind has disks of its own. */
  kind: Image['kind']
  /** Where it is to be made: volumes of that region can be had. */
  region: { code: string; name: string }
  /** The volume that was chosen cannot be had any more. */
  onVolumeGone: () => void
  /** What the disks cost by the hour; unknown until it is priced. */
  diskRate: string | undefined
}

const GB = {
  suffix: ' GB',
  allowDecimal: false,
  allowNegative: false,
  clampBehavior: 'none',
} as const

/** The disks of what is made: the one that it starts from, the one beside that, and a network volume. */
export function StorageFold({ values, fieldOf, kind, region, onVolumeGone, diskRate }: StorageFoldProps) {
  const { t } = useTranslation(['explore', 'volumes'])
  const volumes = useVolumesIn(region.code)
  const volume = volumes?.find(({ id }) => id === values.network_volume.id)
  const isPod = kind === 'POD'
  return (
    <Fold
      title={t('folds.storage')}
      isAtFault={Boolean(fieldOf('network_volume.id').error)}
      holds={[
        firstDisk(),
        ...ownDisk(),
        ...(volume
          ? [t('volumes:deploy.holds', { name: volume.name, path: values.network_volume.path })]
          : []),
      ].join(' · ')}
      cost={diskRate}
    >
      <NumberInput
        label={t(isPod ? 'form.disk' : 'form.system_disk')}
        description={t('form.disk_note', { gb: SYSTEM_DISK_FREE_GB })}
        {...GB}
        {...fieldOf('container_disk_gb')}
      />
      {isPod ? (
        <NumberInput
          label={t('form.pod_volume')}
          description={t('form.pod_volume_note')}
          {...GB}
          {...fieldOf('pod_volume_gb')}
        />
      ) : (
        <NumberInput
          label={t('form.data_disk')}
          description={t('form.data_disk_note', { path: DATA_DISK_PATH })}
          {...GB}
          {...fieldOf('data_disk_gb')}
        />
      )}
      {isPod && values.pod_volume_gb !== '' && (
        <TextInput
          label={t('form.pod_volume_path')}
          description={t('form.pod_volume_path_note')}
          placeholder={POD_VOLUME_PATH}
          maxLength={VOLUME_PATH_CHARS_MAX + 1}
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: 'mono' }}
          {...fieldOf('pod_volume_path')}
        />
      )}
      <VolumeFields
        values={values.network_volume}
        fieldOf={fieldOf}
        regionCode={region.code}
        regionName={region.name}
        takesVolume={isPod}
        onGone={onVolumeGone}
      />
    </Fold>
  )

  /** What it starts from, and how much of that is free. */
  function firstDisk(): string {
    const gb = Number(values.container_disk_gb)
    const isFree = gb <= SYSTEM_DISK_FREE_GB
    const sizes = { gb: gb || '–', free: SYSTEM_DISK_FREE_GB }
    if (isPod) return t(isFree ? 'folds.disk_free' : 'folds.disk', sizes)
    return t(isFree ? 'folds.system_disk_free' : 'folds.system_disk', sizes)
  }

  function ownDisk(): string[] {
    const gb = Number(isPod ? values.pod_volume_gb : values.data_disk_gb)
    if (!gb) return []
    return [t('folds.own_disk', { gb, path: isPod ? values.pod_volume_path : DATA_DISK_PATH })]
  }
}
