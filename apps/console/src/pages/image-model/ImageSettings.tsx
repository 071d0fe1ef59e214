import { CREATION_PICTURES_MAX } from '@berth/contract/limits'
import type { Model } from '@berth/contract/models'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import fields from '../../making/Fields.module.css'
import { LeaveOutField } from '../../making/LeaveOutField.tsx'
import { ModelAbout } from '../../making/ModelAbout.tsx'
import { ModelField } from '../../making/ModelField.tsx'
import { fittingSize } from '../../making/making-draft.ts'
import { PictureField, type PictureTaker } from '../../making/PictureField.tsx'
import { PromptField } from '../../making/PromptField.tsx'
import { SeedField } from '../../making/SeedField.tsx'
import { SizeField } from '../../making/SizeField.tsx'
import type { MakingForm } from '../../making/use-making-form.ts'
import { useSizeWords } from '../../making/use-size-words.ts'
import { bytesText } from '../../ui/bytes.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { usePasted } from '../../ui/use-pasted.ts'

/** How many pictures may be asked for at once, as far as a model makes them. */
const COUNTS = [1, 2, 4, CREATION_PICTURES_MAX]

interface ImageSettingsProps {
  form: Omit<MakingForm, 'submit'>
  models: readonly Model[]
  chosen: Model
  choose: (id: string) => void
  count: number
}

/** What is chosen and typed for pictures. */
export function ImageSettings({ form, models, chosen, choose, count }: ImageSettingsProps) {
  const { t } = useTranslation('making')
  const words = useSizeWords()
  const picture = useRef<PictureTaker>(null)
  const { values, errors, change } = form
  const takePasted = (file: File | undefined) => file && picture.current?.take(file)
  usePasted(takePasted)
  const counts = [...new Set([...COUNTS.filter(number => number <= chosen.images_max), count])].sort(
    (one, other) => one - other,
  )
  return (
    <>
      <ModelField models={models} chosen={chosen} onChoose={choose}>
        <ModelAbout model={chosen} />
      </ModelField>
      <PromptField
        value={values.prompt}
        error={errors.prompt}
        count={count}
        tokensMax={chosen.context_tokens}
        onChange={prompt => change({ prompt })}
        onFiles={chosen.image_input ? ([file]) => takePasted(file) : undefined}
      />
      <LeaveOutField
        value={values.negative_prompt}
        error={errors.negative_prompt}
        onChange={negative_prompt => change({ negative_prompt })}
      />
      <SizeField
        value={fittingSize(values.size, chosen.sizes)}
        choices={words.ofPictures(chosen.sizes)}
        onChange={size => change({ size })}
      />
      <div className={fields.pair}>
        <div data-path="count">
          <span className={fields.label} aria-hidden="true">
            {t('fields.count')}
          </span>
          <SegmentedFilter
            label={t('fields.count')}
            fill
            value={String(count)}
            onChange={text => change({ count: Number(text) })}
            options={counts.map(number => ({ value: String(number), label: String(number) }))}
          />
        </div>
        <SeedField
          value={values.seed}
          error={errors.seed}
          {...(count > 1 && { second: t('fields.seed_first') })}
          onChange={seed => change({ seed })}
        />
      </div>
      {chosen.image_input && (
        <PictureField
          ref={picture}
          path="image"
          name={t('fields.start')}
          second={t('fields.start_second', { size: bytesText(chosen.image_input.bytes_max) })}
          hint={t('picture.choose')}
          limits={chosen.image_input}
          picture={values.image}
          error={errors.image}
          onChange={image => change({ image })}
          onSending={form.onSending}
          onGuest={form.isGuest ? form.askSignIn : null}
        />
      )}
    </>
  )
}
