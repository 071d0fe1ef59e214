import { VOLUME_PATH_CHARS_MAX } from '@berth/contract/limits'
import { listVolumes, type Volume, volumeMount } from '@berth/contract/volumes'
import { Select, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../api/queries.ts'
import { useFormat } from '../../ui/format.ts'

/** A network volume as the form holds it: no id where there is none. */
export interface VolumeValues {
  id: string
  path: string
}

/** Where a volume stands unless somebody says otherwise. */
export const NO_VOLUME: VolumeValues = { id: '', path: '/data' }

/** What the form holds, as the call has it. */
export const volumeField = z
  .object({ id: z.string(), path: z.string() })
  .transform(value => (value.id === '' ? null : value))
  .pipe(volumeMount.nullable())

/** Volumes that an instance of a region may have: those that hold files; undefined while nothing is known. */
export function useVolumesIn(regionCode: string): readonly Volume[] | undefined {
  const { data } = useQuery(queryOf(listVolumes, { query: {} }))
  return data?.filter(
    ({ region_code, status, kind }) =>
      region_code === regionCode && status !== 'deleting' && kind === 'files',
  )
}

interface VolumeFieldsProps {
  values: VolumeValues
  fieldOf: (
    path: 'network_volume.id' | 'network_volume.path',
  ) => ReturnType<UseFormReturnType<Record<string, unknown>>['getInputProps']>
  regionCode: string
  regionName: string
  /** Whether what is made can have one. */
  takesVolume: boolean
  /** What was chosen cannot be had any more. */
  onGone: () => void
}

/** Which network volume the instance has, and where. */
export function VolumeFields(props: VolumeFieldsProps) {
  const { values, fieldOf, regionCode, regionName, takesVolume, onGone } = props
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const volumes = useVolumesIn(regionCode)
  const isGone =
    values.id !== '' &&
    (!takesVolume || (volumes !== undefined && !volumes.some(({ id }) => id === values.id)))
  useEffect(() => {
    if (isGone) onGone()
  }, [isGone, onGone])
  if (!takesVolume) return <p>{t('deploy.vm')}</p>
  if (volumes?.length === 0) {
    return (
      <p>
        {t('deploy.no_volumes', { region: regionName })}{' '}
        <Link to="/network-volume">{t('deploy.create')}</Link>
      </p>
    )
  }
  return (
    <>
      <Select
        label={t('deploy.volume')}
        description={t('deploy.other_region', { region: regionName })}
        allowDeselect={false}
        data={[
          { value: '', label: t('deploy.none') },
          ...(volumes ?? []).map(({ id, name, size_gb }) => ({
            value: id,
            label: t('deploy.option', { name, gb: format.number(size_gb) }),
          })),
        ]}
        {...fieldOf('network_volume.id')}
      />
      {values.id !== '' && (
        <TextInput
          label={t('deploy.path')}
          description={t('deploy.path_note')}
          placeholder={NO_VOLUME.path}
          maxLength={VOLUME_PATH_CHARS_MAX + 1}
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: 'mono' }}
          {...fieldOf('network_volume.path')}
        />
      )}
    </>
  )
}
