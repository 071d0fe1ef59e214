import { DOCKERFILE_CHARS_MAX } from '@berth/contract/build-limits'
import { Textarea, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import { CredentialField } from './SourceFields.tsx'

/** Where a Dockerfile is: one of the two. */
export interface DockerfileSource {
  dockerfile: string | null
  git: { url: string; ref?: string | undefined; folder?: string | undefined } | null
}

const NO_GIT = { url: '', ref: '', folder: '' }

interface DockerfileFieldsProps {
  values: DockerfileSource
  onChange: (source: DockerfileSource) => void
  fieldOf: (path: string) => GetInputPropsReturnType
}

/** A Dockerfile, pasted or in a repository, and what the registry of what it begins with is shown. */
export function DockerfileFields({ values, onChange, fieldOf }: DockerfileFieldsProps) {
  const { t } = useTranslation('image-form')
  // What was typed for the other way is there again when it is chosen again.
  const other = useRef<DockerfileSource>({ dockerfile: '', git: NO_GIT })
  const way = values.git === null ? 'text' : 'git'
  const choose = (chosen: 'text' | 'git') => {
    if (chosen === way) return
    const { dockerfile, git } = other.current
    other.current = { dockerfile: values.dockerfile ?? dockerfile, git: values.git ?? git }
    onChange(chosen === 'git' ? { dockerfile: null, git } : { dockerfile, git: null })
  }
  return (
    <>
      <div>
        <SegmentedFilter
          label={t('source.dockerfile_way')}
          value={way}
          onChange={choose}
          options={(['text', 'git'] as const).map(value => ({
            value,
            label: t(`source.dockerfile_ways.${value}`),
          }))}
        />
      </div>
      {way === 'text' ? (
        <Textarea
          label={t('source.dockerfile')}
          description={t('source.dockerfile_note')}
          placeholder={'FROM debian:12\nRUN apt-get update'}
          classNames={{ input: 'mono' }}
          rows={10}
          maxLength={DOCKERFILE_CHARS_MAX}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          {...fieldOf('dockerfile')}
          value={values.dockerfile ?? ''}
        />
      ) : (
        (['url', 'ref', 'folder'] as const).map(part => (
          <TextInput
            key={part}
            label={t(`source.git.${part}`)}
            description={t(`source.git.${part}_note`)}
            placeholder={PLACEHOLDERS[part]}
            classNames={{ input: 'mono' }}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            {...fieldOf(`git.${part}`)}
            value={values.git?.[part] ?? ''}
          />
        ))
      )}
      <CredentialField field={fieldOf('registry_credential_id')} />
    </>
  )
}

const PLACEHOLDERS = { url: 'https://github.com/owner/name.git', ref: 'main', folder: 'services/api' }
