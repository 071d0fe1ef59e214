import {
  IMAGE_DESCRIPTION_CHARS_MAX,
  IMAGE_NAME_CHARS_MAX,
  IMAGE_TEXT_CHARS_MAX,
  PORTS_MAX,
} from '@berth/contract/limits'
import { allRegions } from '@berth/contract/regions'
import { NumberInput, Select, Textarea, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { CoverField } from './CoverField.tsx'
import classes from './ImageSheet.module.css'
import type { SaidValues } from './image-values.ts'
import { ReadmeField } from './ReadmeField.tsx'
import { TagsField } from './TagsField.tsx'

interface SaidFieldsProps {
  /** What the form keeps of a field: its value, its error, and what hears of changes. */
  fieldOf: (path: keyof SaidValues & string) => GetInputPropsReturnType
  /** The image is where it is, or where its instance is. */
  isRegionFixed: boolean
  /** Told whether a picture is on its way, without which the form is not whole. */
  onSending: (isSending: boolean) => void
}

/** What is said of an image: every field of R3.4, by the rules of R5.5. */
export function SaidFields({ fieldOf, isRegionFixed, onSending }: SaidFieldsProps) {
  const { t } = useTranslation('image-form')
  const regions = useQuery(queryOf(allRegions, {}))
  // One more than allowed, so that the rule can say that it is too long.
  const note = { maxLength: IMAGE_TEXT_CHARS_MAX + 1, autosize: true, maxRows: 6 }
  return (
    <>
      <TextInput
        label={t('fields.name')}
        autoComplete="off"
        maxLength={IMAGE_NAME_CHARS_MAX + 1}
        {...fieldOf('name')}
      />
      <Textarea
        label={t('fields.description')}
        description={t('fields.description_note', { count: IMAGE_DESCRIPTION_CHARS_MAX })}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={IMAGE_DESCRIPTION_CHARS_MAX + 1}
        {...fieldOf('description')}
      />
      <CoverField field={fieldOf('cover')} onSending={onSending} />
      <TagsField field={fieldOf('tags')} />
      <div className={classes.pair}>
        <Select
          label={t('fields.region')}
          description={isRegionFixed ? t('fields.region_fixed') : null}
          readOnly={isRegionFixed}
          allowDeselect={false}
          data={(regions.data ?? []).map(({ code, name }) => ({ value: code, label: name }))}
          {...fieldOf('region_code')}
        />
        <NumberInput
          label={t('fields.vram')}
          description={t('fields.vram_note')}
          suffix=" GB"
          allowDecimal={false}
          allowNegative={false}
          clampBehavior="none"
          {...fieldOf('min_vram_gb')}
        />
        <TextInput
          label={t('fields.http_ports')}
          description={t('fields.ports_note', { count: PORTS_MAX })}
          inputMode="numeric"
          autoComplete="off"
          {...fieldOf('http_ports')}
        />
        <TextInput
          label={t('fields.tcp_ports')}
          description={t('fields.ports_note', { count: PORTS_MAX })}
          inputMode="numeric"
          autoComplete="off"
          {...fieldOf('tcp_ports')}
        />
      </div>
      <Textarea
        label={t('fields.version_info')}
        placeholder="PyTorch 2.9, CUDA 13"
        {...note}
        {...fieldOf('version_info')}
      />
      <Textarea label={t('fields.preloaded_models')} {...note} {...fieldOf('preloaded_models')} />
      <Textarea
        label={t('fields.start_command')}
        description={t('fields.start_command_note')}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        {...note}
        {...fieldOf('start_command')}
      />
      <ReadmeField field={fieldOf('readme')} />
    </>
  )
}
