import type { ImageDetail } from '@berth/contract/images'
import { IMAGE_REPORT_CHARS_MAX } from '@berth/contract/limits'
import { IMAGE_REPORT_KINDS, reportImage, reportImageBody } from '@berth/contract/own-images'
import { NativeSelect, Textarea } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'

interface ReportDialogProps {
  image: Pick<ImageDetail, 'id' | 'name'>
  opened: boolean
  onClose: () => void
}

/** Tells the operator what is wrong with somebody's image. */
export function ReportDialog({ image, opened, onClose }: ReportDialogProps) {
  const { t } = useTranslation('images')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('report.title', { name: image.name })}>
      <ReportForm id={image.id} onClose={onClose} />
    </FormDialog>
  )
}

function ReportForm({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation('images')
  const format = useFormat()
  const report = useChange(reportImage, { silent: true, whenGone: () => toast.good(t('report.done')) })
  const { form, ...state } = useContractForm({
    schema: reportImageBody,
    initialValues: { kind: 'harmful', text: '' },
    onSubmit: async body => {
      await report.send({ params: { id }, body })
      toast.good(t('report.done'))
      onClose()
    },
  })
  return (
    <DialogForm call={reportImage} state={state} submitLabel={t('report.submit')} onCancel={onClose}>
      <p>{t('report.lead')}</p>
      <NativeSelect
        label={t('report.kind')}
        data={IMAGE_REPORT_KINDS.map(kind => ({ value: kind, label: t(`report.kinds.${kind}`) }))}
        {...form.getInputProps('kind')}
      />
      <Textarea
        label={t('report.text')}
        description={t('report.text_note', { max: format.number(IMAGE_REPORT_CHARS_MAX) })}
        autosize
        minRows={4}
        maxRows={12}
        maxLength={IMAGE_REPORT_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('text')}
      />
    </DialogForm>
  )
}
