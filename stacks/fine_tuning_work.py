"""What the container of the nightly fine-tuning runs: LoRA with the Trainer of transformers, one process per GPU."""

from __future__ import annotations

__all__ = ["TUNE", "WORK"]

_MODEL = "Qwen/Qwen2.5-14B"
# Each of the eight processes runs it; tests compile it, and it was never run, for want of a model.
TUNE = f"""
import glob, os
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling
from transformers import Trainer, TrainingArguments
kept, tokens = os.environ["JOB_CHECKPOINTS"], AutoTokenizer.from_pretrained("{_MODEL}")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("{_MODEL}", dtype="bfloat16"), LoraConfig())
texts = load_dataset("text", data_dir="/tmp/texts", split="train").filter(lambda each: each["text"])
data = texts.map(lambda each: tokens(each["text"], truncation=True, max_length=2048), remove_columns="text")
how = TrainingArguments(kept, bf16=True, save_steps=50, save_total_limit=2, per_device_train_batch_size=1)
trainer = Trainer(model, how, DataCollatorForLanguageModeling(tokens, mlm=False), data)
# A checkpoint has this file once it is whole.
whole = sorted(glob.glob(kept + "checkpoint-*/trainer_state.json"), key=os.path.getmtime)
trainer.train(resume_from_checkpoint=os.path.dirname(whole[-1]) if whole else None)
trainer.save_model("/tmp/tuned")
"""
WORK = """pip install awscli==1.42.60 datasets==4.4.1 peft==0.18.0 transformers==4.57.1 accelerate==1.11.0 &&
aws s3 sync --only-show-errors "$TEXTS" /tmp/texts &&
torchrun --standalone --nproc-per-node 8 --no-python python -c "$TUNE" &&
aws s3 sync --only-show-errors /tmp/tuned "$TUNED$JOB_NAME" &&
rm -rf "$JOB_CHECKPOINTS"
"""
