import type { Image } from '@berth/contract/images'
import type { Check } from '@berth/contract/instances'
import { listRegistryCredentials } from '@berth/contract/registries'
import { Select, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { searchOf } from '../../../app/search.ts'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { ImageField } from '../ImageField.tsx'
import classes from './ImageChoice.module.css'

/** What the form holds of the image: one of the catalogue, or a reference; the other one is null. */
interface ImageValues {
  image_id: string | null
  image_reference: string | null
  registry_credential_id: string | null
}

interface ImageChoiceProps {
  images: readonly Image[]
  /** GPU memory of one GPU of the chosen spec, in GB. */
  vramGb: number
  values: ImageValues
  fieldOf: (path: keyof ImageValues) => ReturnType<UseFormReturnType<ImageValues>['getInputProps']>
  /** What the check before the deploy says against the image. */
  fault: Check | null
  /** An official image was chosen. */
  onChoose: (image: Image) => void
  onChange: (changes: Partial<ImageValues>) => void
}

/** Whose images are offered; each of the catalogue's has one type. */
const SOURCES = ['official', 'community', 'own', 'registry'] as const
type Source = (typeof SOURCES)[number]
const SOURCE_OF: Record<Image['type'], Source> = {
  Official: 'official',
  Community: 'community',
  Custom: 'own',
}

/**
 * The image of a machine: an official one, the community's, one's own, or any of a registry, with one of the stored
 * credentials.
 */
export function ImageChoice(props: ImageChoiceProps) {
  const { images, values, fieldOf, onChoose, onChange } = props
  const { t } = useTranslation('deploy')
  const imagesOf = (wanted: Source) => images.filter(({ type }) => SOURCE_OF[type] === wanted)
  const chosenType = images.find(({ id }) => id === values.image_id)?.type ?? 'Official'
  const source = values.image_reference === null ? SOURCE_OF[chosenType] : 'registry'
  // Where there is none of a kind there is nothing to choose.
  const offered = SOURCES.filter(one => one === 'official' || one === 'registry' || imagesOf(one).length > 0)
  return (
    <div className={classes.choice}>
      <SegmentedFilter
        label={t('image.source')}
        value={source}
        onChange={chosen => {
          if (chosen === 'registry') return onChange({ image_id: null, image_reference: '' })
          onChange({ image_reference: null, registry_credential_id: null })
          const those = imagesOf(chosen)
          const first = those.find(image => image.available) ?? those[0]
          if (first) onChoose(first)
        }}
        options={offered.map(value => ({
          value,
          label: t(`image.sources.${value}`),
        }))}
      />
      {source !== 'registry' ? (
        <ImageField
          images={imagesOf(source)}
          vramGb={props.vramGb}
          field={fieldOf('image_id')}
          onChoose={image => onChoose(image)}
        />
      ) : (
        <ReferenceFields {...props} />
      )}
    </div>
  )
}

/** A reference, and what its registry is shown. What the registry says of it stands at its field. */
function ReferenceFields({ values, fieldOf, fault, onChange }: ImageChoiceProps) {
  const { t } = useTranslation(['deploy', 'explore', 'errors'])
  const credentials = useQuery(queryOf(listRegistryCredentials, {}))
  const said =
    fault &&
    t([`errors:rules.${fault.code as 'image_reference'}`, `explore:check.${fault.code as 'no_driver'}`])
  const saidAt =
    fault?.values.field === 'registry_credential_id' ? 'registry_credential_id' : 'image_reference'
  const fieldWith = (path: 'image_reference' | 'registry_credential_id') => {
    const field = fieldOf(path)
    return { ...field, error: field.error ?? (saidAt === path ? said : null) }
  }
  return (
    <div className={classes.reference}>
      <TextInput
        label={t('image.reference')}
        description={t('image.reference_note')}
        placeholder="ghcr.io/owner/name:tag"
        classNames={{ input: 'mono' }}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        {...fieldWith('image_reference')}
        value={values.image_reference ?? ''}
        onChange={event => onChange({ image_reference: event.target.value })}
      />
      <Select
        label={t('image.credential')}
        description={
          <Link to="/settings" search={searchOf({ section: 'registries' })}>
            {t('image.credentials')}
          </Link>
        }
        data={[
          { value: '', label: t('image.no_credential') },
          ...(credentials.data ?? []).map(({ id, name, registry, username }) => ({
            value: id,
            label: t('image.credential_of', { name, registry, username }),
          })),
        ]}
        allowDeselect={false}
        {...fieldWith('registry_credential_id')}
        value={values.registry_credential_id ?? ''}
        onChange={id => onChange({ registry_credential_id: id || null })}
      />
    </div>
  )
}
