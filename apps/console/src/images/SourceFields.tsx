import { instanceCan } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'
import { listRegistryCredentials } from '@berth/contract/registries'
import { Select, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { instancesQuery } from '../api/instances-query.ts'
import { queryOf } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'

interface InstanceFieldProps {
  field: GetInputPropsReturnType
  onChoose: (instance: Instance) => void
}

/** The instance that an image is made of; each that cannot be now says why (R4.6). */
export function InstanceField({ field, onChoose }: InstanceFieldProps) {
  const { t } = useTranslation(['image-form', 'common'])
  const { data: instances = [], isPending } = useQuery(instancesQuery)
  const options = instances.map(instance => {
    const { instance_id: value, name, kind, status } = instance
    if (instanceCan('create_image', instance)) return { value, label: name, disabled: false }
    const why = t(`source.only.${kind}`)
    return {
      value,
      label: t('source.off', { name, status: t(`common:status.${status}`), why }),
      disabled: true,
    }
  })
  return (
    <Select
      label={t('source.instance')}
      placeholder={t('source.instance_placeholder')}
      description={
        !isPending && instances.length === 0 ? t('source.no_instances') : t('source.instance_note')
      }
      nothingFoundMessage={t('source.none_found')}
      searchable
      allowDeselect={false}
      data={options}
      {...field}
      onChange={id => {
        const chosen = instances.find(({ instance_id }) => instance_id === id)
        if (chosen) onChoose(chosen)
      }}
    />
  )
}

/** A registry's image, and what its registry is shown. */
export function ReferenceFields({
  fieldOf,
}: {
  fieldOf: (path: 'image_reference' | 'registry_credential_id') => GetInputPropsReturnType
}) {
  const { t } = useTranslation('image-form')
  const reference = fieldOf('image_reference')
  return (
    <>
      <TextInput
        label={t('source.reference')}
        description={t('source.reference_note')}
        placeholder="ghcr.io/owner/name:tag"
        classNames={{ input: 'mono' }}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        {...reference}
        value={String(reference.value ?? '')}
      />
      <CredentialField field={fieldOf('registry_credential_id')} />
    </>
  )
}

/** Which of the account's credentials a registry is shown. */
export function CredentialField({ field }: { field: GetInputPropsReturnType }) {
  const { t } = useTranslation('image-form')
  const credentials = useQuery(queryOf(listRegistryCredentials, {}))
  return (
    <Select
      label={t('source.credential')}
      description={
        <Link to="/settings" search={searchOf({ section: 'registries' })}>
          {t('source.credentials')}
        </Link>
      }
      allowDeselect={false}
      data={[
        { value: '', label: t('source.no_credential') },
        ...(credentials.data ?? []).map(({ id, name, registry, username }) => ({
          value: id,
          label: t('source.credential_of', { name, registry, username }),
        })),
      ]}
      {...field}
      value={String(field.value ?? '')}
      onChange={id => field.onChange(id || null)}
    />
  )
}
